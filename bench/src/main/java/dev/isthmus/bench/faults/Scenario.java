package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;

/** A fault under load, and the figure that it must meet. */
interface Scenario {
    String name();

    /** The gateway's configuration when it starts. */
    String config(GatewayConfigs configs);

    /** Runs the load with the fault and compares what came of it with the figure. */
    Verdict play(Stage stage) throws IOException, BenchException, InterruptedException;

    /** Microseconds that a stub takes for a request. */
    default int serviceMicros() {
        return Options.SERVICE_MICROS;
    }
}

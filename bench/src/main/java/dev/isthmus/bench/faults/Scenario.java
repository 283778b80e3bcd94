package dev.isthmus.bench.faults;

import java.io.IOException;

/** A fault under load, and the figure that it must meet. */
interface Scenario {
    String name();

    /** The gateway's configuration when it starts. */
    String config(GatewayConfigs configs);

    /** Runs the load with the fault and compares what came of it with the figure. */
    Verdict play(Stage stage) throws IOException, ScenarioException, InterruptedException;

    /** Microseconds that a stub takes for a request. */
    default int serviceMicros() {
        return Options.SERVICE_MICROS;
    }
}

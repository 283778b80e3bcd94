package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;

/** A fault under load, with the limit that it must meet. */
interface Scenario {
    String name();

    /** The gateway's initial configuration. */
    String config(GatewayConfigs configs);

    /** Runs the load with the fault and checks the results against the limit. */
    Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException;

    /** The number of gateways with this configuration. */
    default int gateways() {
        return 1;
    }

    /** Whether clients use TLS; the configuration then has {@link CertificateFiles}, and an admin listener. */
    default boolean secure() {
        return false;
    }

    /** Whether the stubs speak REST instead of gRPC. */
    default boolean restUpstream() {
        return false;
    }

    /** Limit of open files of the gateway; 0 for that of this process. */
    default int maxFiles() {
        return 0;
    }

    /** Service time of a stub in microseconds. */
    default int serviceMicros() {
        return Options.SERVICE_MICROS;
    }
}

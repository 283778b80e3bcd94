package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.Loopback;
import java.io.IOException;
import java.time.Duration;

/** Reloads according to the gateway's metrics. */
record Reloads(int adminPort, String counter) {
    private static final int PERIOD_MILLIS = 20;

    /** Reloads of the configuration. */
    static Reloads ofConfiguration(int adminPort) {
        return new Reloads(adminPort, "isthmus_config_reloads_total");
    }

    /** Reloads of certificates and keys. */
    static Reloads ofCertificates(int adminPort) {
        return new Reloads(adminPort, "isthmus_tls_reloads_total");
    }

    /** The number of reloads so far with this result, applied or rejected; 0 if the gateway does not respond. */
    long count(String result) {
        try {
            return (long) Loopback.sum(Loopback.get(adminPort, "/metrics"), counter, "result=\"" + result + "\"");
        } catch (IOException e) {
            return 0;
        }
    }

    /** Waits until there are more than {@code before}; returns false on timeout. */
    boolean awaitMore(String result, long before, Duration limit) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (System.nanoTime() < end) {
            if (count(result) > before) {
                return true;
            }
            Thread.sleep(PERIOD_MILLIS);
        }
        return false;
    }
}

package dev.isthmus.bench.faults;

import java.io.IOException;
import java.time.Duration;

/** Reloads according to the gateway's metrics. */
record Reloads(int adminPort, String counter) {
    private static final String CONFIGURATION = "isthmus_config_reloads_total";
    private static final int PERIOD_MILLIS = 20;

    /** Reloads of the configuration. */
    static Reloads ofConfiguration(int adminPort) {
        return new Reloads(adminPort, CONFIGURATION);
    }

    /** Reloads of certificates and keys. */
    static Reloads ofCertificates(int adminPort) {
        return new Reloads(adminPort, "isthmus_tls_reloads_total");
    }

    /** The number of reloads so far with this result, applied or rejected; 0 if the gateway does not respond. */
    long count(String result) {
        try {
            return count(Http.get(adminPort, "/metrics"), counter, result);
        } catch (IOException e) {
            return 0;
        }
    }

    /** The number of the configuration's reloads with this result, from metrics in Prometheus's text format. */
    static long count(String metrics, String result) {
        return count(metrics, CONFIGURATION, result);
    }

    /** The number of reloads with this result, from metrics in Prometheus's text format. */
    private static long count(String metrics, String counter, String result) {
        return metrics.lines()
                .filter(line -> line.startsWith(counter + "{") && line.contains("result=\"" + result + "\""))
                .mapToLong(line -> (long) Double.parseDouble(
                        line.substring(line.lastIndexOf('}') + 1).strip().split(" ", 2)[0]))
                .sum();
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

package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.time.Duration;

/**
 * Certificates and keys of a TLS listener are replaced again and again, by renaming and by a symbolic link, while clients
 * open and use connections. SIGHUP reads every other replacement at once, the watch of the files reads the rest. No
 * request may fail.
 */
record CertificatesScenario() implements Scenario {
    private static final int PERIOD_MILLIS = 1_000;
    private static final Duration LIMIT = Duration.ofSeconds(10);

    @Override
    public String name() {
        return "certificates";
    }

    @Override
    public boolean secure() {
        return true;
    }

    @Override
    public String config(GatewayConfigs configs) {
        return "health: {warm_up: 0s}\n" + configs.withAdmin(configs.secureReplicas());
    }

    @Override
    public Verdict play(ScenarioContext context) throws BenchException, InterruptedException {
        Reloads reloads = Reloads.ofCertificates(context.fleet().configs().adminPort());
        int[] replaced = {0};
        int[] applied = {0};
        context.open(() -> {
            long end = System.nanoTime()
                    + Duration.ofMillis(context.options().millis(0.8)).toNanos();
            while (System.nanoTime() < end) {
                boolean signalled = replaced[0]++ % 2 == 0;
                if (replace(context.fleet(), reloads, signalled)) {
                    applied[0]++;
                }
                if (signalled) {
                    Thread.sleep(PERIOD_MILLIS);
                }
            }
        });
        long rejected = reloads.count("rejected");
        return Verdict.of(
                context.failed() == 0 && applied[0] == replaced[0] && rejected == 0,
                applied[0] + " of " + replaced[0] + " replacements applied",
                rejected + " rejected");
    }

    private static boolean replace(Fleet fleet, Reloads reloads, boolean signalled)
            throws IOException, BenchException, InterruptedException {
        long before = reloads.count("applied");
        fleet.certificates().replace();
        if (signalled) {
            fleet.signalGateway("HUP");
        }
        return reloads.awaitMore("applied", before, LIMIT);
    }
}

package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.time.Duration;

/** Reloads under load, each with different weights: no request may fail. */
record ReloadScenario() implements Scenario {
    private static final Duration LIMIT = Duration.ofSeconds(5);

    @Override
    public String name() {
        return "reload";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.withAdmin(configs.split(90));
    }

    @Override
    public Verdict play(ScenarioContext context) throws BenchException, InterruptedException {
        int wanted = context.options().brief() ? 6 : 20;
        Reloads reloads = Reloads.ofConfiguration(context.fleet().configs().adminPort());
        long before = reloads.count("applied");
        context.open(() -> reload(context, reloads, wanted));
        long applied = reloads.count("applied") - before;
        return Verdict.of(
                context.failed() == 0 && applied == wanted, applied + " of " + wanted + " reloads applied under load");
    }

    private static void reload(ScenarioContext context, Reloads reloads, int wanted) throws Exception {
        GatewayConfigs configs = context.fleet().configs();
        long start = System.nanoTime();
        for (int i = 1; i <= wanted; i++) {
            long due = context.options().millis((double) i / (wanted + 1));
            long now = Duration.ofNanos(System.nanoTime() - start).toMillis();
            if (now > context.options().millis(1)) {
                return; // the load is over: further reloads would prove nothing
            }
            Thread.sleep(Math.max(0, due - now));
            long before = reloads.count("applied");
            context.fleet().configure(configs.withAdmin(configs.split(90 - 2 * i)));
            if (!reloads.awaitMore("applied", before, LIMIT)) {
                return;
            }
        }
    }
}

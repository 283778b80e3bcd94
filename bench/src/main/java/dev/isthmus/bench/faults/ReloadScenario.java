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
    public Verdict play(ScenarioContext stage) throws BenchException, InterruptedException {
        int wanted = stage.options().brief() ? 6 : 20;
        Reloads reloads = new Reloads(stage.fleet().configs().adminPort());
        long before = reloads.count("applied");
        stage.open(() -> reload(stage, reloads, wanted));
        long applied = reloads.count("applied") - before;
        return Verdict.of(
                stage.failed() == 0 && applied == wanted, applied + " of " + wanted + " reloads applied under load");
    }

    private static void reload(ScenarioContext stage, Reloads reloads, int wanted) throws Exception {
        GatewayConfigs configs = stage.fleet().configs();
        long start = System.nanoTime();
        for (int i = 1; i <= wanted; i++) {
            long due = stage.options().millis((double) i / (wanted + 1));
            long now = Duration.ofNanos(System.nanoTime() - start).toMillis();
            if (now > stage.options().millis(1)) {
                return; // the load is over: further reloads would prove nothing
            }
            Thread.sleep(Math.max(0, due - now));
            long before = reloads.count("applied");
            stage.fleet().configure(configs.withAdmin(configs.split(90 - 2 * i)));
            if (!reloads.awaitMore("applied", before, LIMIT)) {
                return;
            }
        }
    }
}

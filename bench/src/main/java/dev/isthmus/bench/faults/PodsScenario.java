package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * The pods of a Service are replaced one after the other, as a Deployment does it: the new one is ready first, the old
 * one serves until its calls have ended. No request may fail.
 */
record PodsScenario() implements Scenario {
    private static final int PAUSE_MILLIS = 500;

    @Override
    public String name() {
        return "pods";
    }

    @Override
    public boolean pods() {
        return true;
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.service();
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        int[] replaced = new int[1];
        context.open(() -> {
            long end = System.nanoTime()
                    + TimeUnit.MILLISECONDS.toNanos(context.options().millis(0.8));
            while (System.nanoTime() < end) {
                Thread.sleep(PAUSE_MILLIS);
                context.fleet().replacePod(replaced[0] % Fleet.STUBS.size(), "new-" + replaced[0]);
                replaced[0]++;
            }
        });
        return Verdict.of(context.failed() == 0 && replaced[0] > 0, replaced[0] + " pods replaced");
    }
}

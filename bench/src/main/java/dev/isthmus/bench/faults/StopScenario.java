package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import java.io.IOException;

/** SIGSTOP of one of two replicas, later SIGCONT: it keeps its connections but does not respond. */
record StopScenario(boolean guarded) implements Scenario {
    private static final int MAX_FAILED = 10;
    private static final int VICTIM = 0;

    @Override
    public String name() {
        return guarded ? "stop" : "stop-default";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return guarded
                ? configs.replicas(
                        "try_timeout: 300ms",
                        "outliers: {consecutive_failures: 3, ejection: 5s}",
                        "retry: {on: [unsent, unavailable, timeout]}",
                        "breaker: {failure_rate: 50%}")
                : configs.replicas();
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        long stopped = Math.min(3_000, context.options().millis(0.4));
        context.open(() -> {
            Thread.sleep(context.options().millis(0.2));
            Child victim = context.fleet().stub(VICTIM);
            victim.signal("STOP");
            Thread.sleep(stopped);
            victim.signal("CONT");
        });
        Verdict verdict = Verdict.of(context.failed() <= MAX_FAILED, "stopped for " + stopped + " ms");
        return guarded ? verdict : new Verdict(Verdict.Result.REPORTED, verdict.notes());
    }
}

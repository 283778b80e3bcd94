package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** One of two servers becomes slow under load: without hedging, which is only reported, or with it. */
record SlowScenario(boolean hedged) implements Scenario {
    private static final Duration LIMIT = Duration.ofSeconds(5);

    @Override
    public String name() {
        return hedged ? "slow-hedged" : "slow";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return hedged ? configs.replicas("hedging: {quantile: 80%, budget: 50%}") : configs.replicas();
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        context.open(() -> {
            Thread.sleep(context.options().millis(0.2));
            context.fleet().stub(0).tell(StubServer.SLOW);
            context.fleet().stub(0).await(StubServer.SLOW, LIMIT);
        });
        double slowMillis = StubService.SLOW_FACTOR * Options.SERVICE_MICROS / 1e3;
        double p99 = context.tally().millis(99);
        String note = String.format(Locale.ROOT, "the slow server takes %.0f ms", slowMillis);
        return hedged
                ? Verdict.of(context.failed() == 0 && p99 < slowMillis / 2, note)
                : new Verdict(Verdict.Result.REPORTED, List.of(note));
    }
}

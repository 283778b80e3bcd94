package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.time.Duration;
import java.util.Locale;

/** All upstream servers respond with UNAVAILABLE: retries must not multiply the failing load. */
record StormScenario() implements Scenario {
    private static final double MAX_RATIO = 1.2;
    private static final Duration LIMIT = Duration.ofSeconds(5);

    @Override
    public String name() {
        return "storm";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.replicas("retry: {retries: 3, on: [unsent, unavailable, lost], budget: 20%}");
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        long[] before = new long[2];
        context.open(() -> {
            Thread.sleep(context.options().millis(0.2));
            for (int stub = 0; stub < Fleet.STUBS.size(); stub++) {
                context.fleet().stub(stub).tell(StubServer.FAIL);
            }
            for (int stub = 0; stub < Fleet.STUBS.size(); stub++) {
                context.fleet().stub(stub).await(StubServer.FAIL, LIMIT);
            }
            before[0] = context.tally().offeredCount();
            before[1] = context.fleet().ledgers().all().arrivals();
        });
        long offered = context.tally().offeredCount() - before[0];
        long attempts = context.fleet().ledgers().all().arrivals() - before[1];
        double ratio = (double) attempts / Math.max(1, offered);
        return Verdict.of(
                before[0] > 0 && ratio <= MAX_RATIO,
                String.format(Locale.ROOT, "while all failed: %.3f attempts upstream for each request", ratio));
    }
}

package dev.isthmus.bench.faults;

import java.io.IOException;
import java.util.Locale;

/** A split of 90 to 10, counted at the upstream servers. */
record SplitScenario() implements Scenario {
    private static final double WANTED = 90;
    private static final int CONCURRENCY = 32;
    private static final int REQUESTS = 100_000;
    /** Tolerance in percentage points in either direction. */
    private static final double TOLERANCE = 0.5;

    private static final int BRIEF_REQUESTS = 10_000;
    /** With fewer requests, the share varies more by chance. */
    private static final double BRIEF_TOLERANCE = 1.5;

    @Override
    public String name() {
        return "split";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.split((int) WANTED);
    }

    @Override
    public int serviceMicros() {
        return 1_000;
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, InterruptedException {
        boolean brief = context.options().brief();
        context.closed(brief ? BRIEF_REQUESTS : REQUESTS, CONCURRENCY);
        long first = context.fleet().ledgers().of(Fleet.STUBS.get(0)).arrivals();
        double share =
                100.0 * first / Math.max(1, context.fleet().ledgers().all().arrivals());
        double tolerance = brief ? BRIEF_TOLERANCE : TOLERANCE;
        return Verdict.of(
                context.failed() == 0 && Math.abs(share - WANTED) <= tolerance,
                String.format(
                        Locale.ROOT,
                        "%.2f %% went to the first, within %.1f of %.0f wanted",
                        share,
                        tolerance,
                        WANTED));
    }
}

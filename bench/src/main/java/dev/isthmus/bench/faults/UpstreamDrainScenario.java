package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The upstream servers are restarted in turn, again and again, and drain before they end: grpc-java's with GOAWAY, REST
 * servers with {@code Connection: close}. No request may fail, and none may be executed twice.
 */
record UpstreamDrainScenario(boolean rest) implements Scenario {
    /** Time between the start of one server and the end of the other one. */
    private static final int PAUSE_MILLIS = 1_000;

    @Override
    public String name() {
        return rest ? "drain-upstream-rest" : "drain-upstream";
    }

    @Override
    public String config(GatewayConfigs configs) {
        // A request may be on its way to an idle connection when the server closes it.
        return rest ? configs.restReplicas("retry: {on: [unsent, unavailable, lost]}") : configs.replicas();
    }

    @Override
    public boolean restUpstream() {
        return rest;
    }

    @Override
    public Verdict play(ScenarioContext context) throws BenchException, InterruptedException, IOException {
        Fleet fleet = context.fleet();
        List<Integer> codes = new ArrayList<>();
        context.open(() -> {
            long end = System.nanoTime()
                    + TimeUnit.MILLISECONDS.toNanos(context.options().millis(0.8));
            Thread.sleep(context.options().millis(0.1));
            do {
                int number = codes.size() % Fleet.STUBS.size();
                codes.add(fleet.drain(number));
                fleet.restart(number);
                Thread.sleep(PAUSE_MILLIS);
            } while (System.nanoTime() < end);
        });
        boolean clean = codes.stream().allMatch(code -> code == 0);
        return Verdict.of(
                context.failed() == 0 && fleet.ledgers().duplicates() == 0 && clean,
                codes.size() + " restarts of servers",
                clean ? "exit code 0" : "exit codes " + codes);
    }
}

package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * SIGTERM to gateways under load: once to one of two, or to both in turn, again and again, each after the other is back.
 * No request of a client that honours GOAWAY and {@code Connection: close} may fail.
 */
record DrainScenario(boolean rolling) implements Scenario {
    private static final int GATEWAYS = 2;
    /** Time for clients to open connections to a gateway that is back. */
    private static final int PAUSE_MILLIS = 1_000;

    @Override
    public String name() {
        return rolling ? "rolling" : "drain";
    }

    @Override
    public int gateways() {
        return GATEWAYS;
    }

    @Override
    public String config(GatewayConfigs configs) {
        return GatewayConfigs.withShortDrain(configs.replicas());
    }

    @Override
    public Verdict play(ScenarioContext context) throws BenchException, InterruptedException {
        List<Integer> codes = new ArrayList<>();
        List<Long> millis = new ArrayList<>();
        context.open(() -> {
            long end = System.nanoTime()
                    + TimeUnit.MILLISECONDS.toNanos(context.options().millis(0.7));
            Thread.sleep(context.options().millis(0.1));
            int number = 0;
            do {
                long begin = System.nanoTime();
                codes.add(context.fleet().terminateGateway(number));
                millis.add(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin));
                if (rolling) {
                    context.fleet().restartGateway(number);
                    Thread.sleep(PAUSE_MILLIS);
                }
                number = (number + 1) % GATEWAYS;
            } while (rolling && System.nanoTime() < end);
        });
        boolean clean = codes.stream().allMatch(code -> code == 0);
        return Verdict.of(
                context.failed() == 0 && clean,
                codes.size() + " drained in " + millis + " ms",
                clean ? "exit code 0" : "exit codes " + codes);
    }
}

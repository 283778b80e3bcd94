package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * SIGKILL of one of two replicas, and its restart. With retries of lost requests none may fail; without, only those in
 * flight on the dead host, and none may be executed twice.
 */
record KillScenario(boolean retried) implements Scenario {
    private static final int VICTIM = 0;
    /** Requests are still sent to the dead host until the gateway has read that its connections were closed. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long PERIOD_MILLIS = 5;

    @Override
    public String name() {
        return retried ? "kill" : "kill-default";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return retried ? configs.replicas("retry: {on: [unsent, unavailable, lost]}") : configs.replicas();
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        Death death = new Death();
        context.open(() -> killAndRestart(context, death));
        int[] survivor = context.fleet().ledgers().executions(Fleet.STUBS.get(1 - VICTIM));
        int strays = strays(context.tally().failures(), death, survivor);
        boolean back = death.backMillis >= 0;
        String returned = back
                ? "requests again " + death.backMillis + " ms after it listened"
                : "after its return it got no requests";
        String lost = death.inFlight + " in service on the dead host, which was gone after "
                + TimeUnit.NANOSECONDS.toMillis(death.goneNanos - death.killedNanos) + " ms";
        if (retried) {
            return Verdict.of(context.failed() == 0 && back, lost, returned);
        }
        int twice = context.fleet().ledgers().duplicates();
        return Verdict.of(
                strays == 0 && twice == 0 && back, lost, strays + " failed that were not in flight there", returned);
    }

    /** The death of the host; written by the fault, read after it has ended. */
    static final class Death {
        long killedNanos;
        long goneNanos;
        long inFlight;
        long backMillis = -1;
    }

    private static void killAndRestart(ScenarioContext context, Death death)
            throws IOException, BenchException, InterruptedException {
        Fleet fleet = context.fleet();
        long end = System.nanoTime()
                + TimeUnit.MILLISECONDS.toNanos(context.options().millis(1));
        Thread.sleep(context.options().millis(0.2));
        death.killedNanos = System.nanoTime();
        fleet.kill(VICTIM);
        death.goneNanos = System.nanoTime();
        death.inFlight = fleet.ledgers().of(Fleet.STUBS.get(VICTIM)).inFlight();
        Thread.sleep(Math.min(5_000, context.options().millis(0.25)));
        fleet.restart(VICTIM);
        long listening = System.nanoTime();
        long before = arrivals(fleet);
        while (System.nanoTime() < end) {
            if (arrivals(fleet) > before) {
                death.backMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - listening);
                return;
            }
            Thread.sleep(PERIOD_MILLIS);
        }
    }

    private static long arrivals(Fleet fleet) throws IOException {
        return fleet.ledgers().of(Fleet.STUBS.get(VICTIM)).arrivals();
    }

    /**
     * The number of failed requests that were not in flight when the host died, or had arrived at the other host.
     *
     * @param survivor arrivals of each request at the other host
     */
    static int strays(List<Tally.Failure> failures, Death death, int[] survivor) {
        int strays = 0;
        for (Tally.Failure failure : failures) {
            boolean inFlight = failure.sentNanos() - death.goneNanos < GRACE_NANOS
                    && failure.endedNanos() - death.killedNanos >= 0;
            strays += inFlight && survivor[failure.id()] == 0 ? 0 : 1;
        }
        return strays;
    }
}

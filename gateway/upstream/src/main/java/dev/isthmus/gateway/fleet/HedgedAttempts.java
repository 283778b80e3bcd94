package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.HedgePolicy.HedgeEvent;
import dev.isthmus.oip.ModelRef;
import java.util.Collection;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The two attempts of a call that may be sent to a second server while the first one has not answered. As soon as one
 * is answered, the other one is cancelled. Used on the event loop of the call.
 */
final class HedgedAttempts {
    private final HedgePolicy policy;
    private final ModelRef model;
    private @Nullable Future<?> late;
    /** The first attempt, while the second one is under way and neither has a response. */
    private @Nullable Attempt first;

    HedgedAttempts(HedgePolicy policy, ModelRef model) {
        this.policy = policy;
        this.model = model;
    }

    /**
     * The call was sent to the first server.
     *
     * @param remaining nanoseconds until the call times out
     * @param hedge runs when the call is late
     */
    void sent(Call call, long remaining, Runnable hedge) {
        policy.budget().earn();
        long delay = policy.delays().nanos(model);
        if (delay < remaining) {
            late = call.loop().schedule(hedge, delay, TimeUnit.NANOSECONDS);
        }
    }

    /** Whether a call that is late is sent to this server, too; null if there is none. */
    boolean allows(@Nullable Replica other, Collection<Replica> tried) {
        HedgeEvent event = other == null || tried.contains(other)
                ? HedgeEvent.NO_SERVER
                : policy.budget().take() ? HedgeEvent.SENT : HedgeEvent.BUDGET_EXHAUSTED;
        policy.events().accept(event);
        return event == HedgeEvent.SENT;
    }

    /** A second attempt is about to start. */
    void hedged(Attempt firstAttempt) {
        first = firstAttempt;
    }

    /**
     * An attempt has failed before any response.
     *
     * @param current the last attempt
     * @param mayDecide whether it is the answer, if there is another attempt
     * @return the other attempt, which may still be answered; null if there is none any more
     */
    @Nullable
    Attempt other(Attempt failed, @Nullable Attempt current, boolean mayDecide) {
        stopWaiting();
        if (first == null) {
            return null;
        }
        if (mayDecide) {
            decide(failed, current);
            return null;
        }
        Attempt other = failed == first ? current : first;
        first = null;
        return other;
    }

    /** This attempt was answered: the other one, if there is one, is cancelled. */
    void answered(Attempt winner, @Nullable Attempt current) {
        policy.delays().measure(model, winner.latencyNanos());
        decide(winner, current);
    }

    private void decide(Attempt winner, @Nullable Attempt current) {
        stopWaiting();
        Attempt loser = winner == first ? current : first;
        boolean won = winner != first;
        if (first == null || loser == null) {
            return;
        }
        first = null;
        loser.cancel();
        policy.delays().measure(model, loser.latencyNanos());
        if (won) {
            policy.events().accept(HedgeEvent.WON);
        }
    }

    /** The call was cancelled; the last attempt is not affected. */
    void cancel() {
        stopWaiting();
        if (first != null) {
            first.cancel();
            first = null;
        }
    }

    private void stopWaiting() {
        if (late != null) {
            late.cancel(false);
            late = null;
        }
    }
}

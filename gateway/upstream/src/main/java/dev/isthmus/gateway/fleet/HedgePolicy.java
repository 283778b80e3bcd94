package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.RetryPolicy.RetryBudget;
import dev.isthmus.gateway.hedge.HedgeDelays;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.RepeatSafety;
import dev.isthmus.oip.ModelRef;
import java.util.Collection;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Which calls of a cluster are sent to a second server while the first one has not answered, and when. Thread-safe.
 *
 * @param delays when a call of a model is late
 * @param budget of second attempts
 * @param maxBody the largest request that is kept for a second attempt, in bytes
 * @param events counts what becomes of late calls
 */
record HedgePolicy(HedgeDelays delays, RetryBudget budget, int maxBody, Consumer<HedgeEvent> events) {
    /** What becomes of a late call. */
    enum HedgeEvent {
        /** A second attempt was sent. */
        SENT,
        /** The second attempt was answered first. */
        WON,
        /** The budget did not allow a second attempt. */
        BUDGET_EXHAUSTED,
        /** No other server could take the call. */
        NO_SERVER
    }

    HedgePolicy(Hedging settings, int maxBody, LongSupplier nanoTime, Consumer<HedgeEvent> events) {
        this(new HedgeDelays(settings, nanoTime), new RetryBudget(settings.budget(), nanoTime), maxBody, events);
    }

    /** Whether the request may run twice and can be sent twice; it has exactly one response. */
    boolean hedges(Call call, UpstreamRequest request) {
        return request instanceof UpstreamRequest.InferenceRequest
                && request.repeat() != RepeatSafety.NEVER
                && !request.endless()
                && !call.sequence()
                && request.bytes() <= maxBody;
    }

    /**
     * The two attempts of a call that may be sent to a second server while the first one has not answered. As soon as one
     * is answered, the other one is cancelled. Used on the event loop of the call.
     */
    static final class HedgedAttempts {
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
}

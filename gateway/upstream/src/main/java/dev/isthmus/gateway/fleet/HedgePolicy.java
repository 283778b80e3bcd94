package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.hedge.HedgeDelays;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.RepeatSafety;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

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
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.hedge.HedgeDelays;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.RepeatSafety;
import dev.isthmus.oip.ModelRef;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Which calls of a cluster are sent to a second server while the first one has not answered, and when. Thread-safe. */
final class HedgePolicy {
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

    private final HedgeDelays delays;
    private final RetryBudget budget;
    private final int maxBody;
    private final Consumer<HedgeEvent> counter;

    /** @param maxBody as {@link #kept()} */
    HedgePolicy(Hedging settings, int maxBody, LongSupplier nanoTime, Consumer<HedgeEvent> counter) {
        this.delays = new HedgeDelays(settings, nanoTime);
        this.budget = new RetryBudget(settings.budget(), nanoTime);
        this.maxBody = maxBody;
        this.counter = counter;
    }

    void count(HedgeEvent event) {
        counter.accept(event);
    }

    /** The largest request that is kept for a second attempt, in bytes. */
    long kept() {
        return maxBody;
    }

    /** Whether the request may run twice and can be sent twice; it has exactly one response. */
    boolean hedges(Call call, UpstreamRequest request) {
        return request instanceof UpstreamRequest.InferenceRequest
                && request.repeat() != RepeatSafety.NEVER
                && !request.endless()
                && !call.sequence()
                && request.bytes() <= maxBody;
    }

    /** The time after which a call is late, in nanoseconds; {@link Long#MAX_VALUE} if that is not known. */
    long delayNanos(ModelRef model) {
        return delays.nanos(model);
    }

    /** An attempt was answered, or cancelled because another one was. */
    void measure(ModelRef model, long nanos) {
        delays.measure(model, nanos);
    }

    /** A call that may be hedged begins. */
    void earn() {
        budget.earn();
    }

    /** Takes a second attempt from the budget; false if it is exhausted. */
    boolean take() {
        return budget.take();
    }
}

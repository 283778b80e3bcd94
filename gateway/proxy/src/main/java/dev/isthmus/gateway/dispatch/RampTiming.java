package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.TargetMetering;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The layer that reports outcome and latency of each request to the ramp of its route. */
final class RampTiming implements Layer {
    private static final Slot<ResponseTimer> TIMER = new Slot<>();

    private final Ramps ramps;
    private final LongSupplier nanoTime;

    RampTiming(Ramps ramps, LongSupplier nanoTime) {
        this.ramps = ramps;
        this.nanoTime = nanoTime;
    }

    @Override
    public String name() {
        return "ramps";
    }

    @Override
    public void sending(Exchange exchange) {
        RoutedCall routed = RoutedCall.in(exchange);
        if (routed != null && routed.policies().ramped()) {
            ResponseTimer timer = exchange.get(TIMER);
            if (timer == null) {
                timer = new ResponseTimer(nanoTime);
                exchange.put(TIMER, timer);
            }
            timer.sending();
        }
    }

    @Override
    public void responding(Exchange exchange) {
        ResponseTimer timer = exchange.get(TIMER);
        if (timer != null) {
            timer.responded();
        }
    }

    @Override
    public void targetEnded(Exchange exchange, @Nullable OipException failure) {
        ResponseTimer timer = exchange.get(TIMER);
        if (timer == null) {
            return;
        }
        timer.responded();
        RoutedCall routed = RoutedCall.of(exchange);
        Target target = routed.target();
        if (timer.isKnown() && target != null) {
            boolean failed = failure != null && Ramps.counts(failure.code());
            TargetMeters.TargetMeter meter = TargetMetering.meter(exchange);
            if (meter != null && !failed) {
                meter.responded(timer.nanos());
            }
            ramps.record(routed.route().key(), target.arm(), failed, timer.nanos());
        }
    }

    /** Measures a target's response time: until the response is complete, or starts to be forwarded. */
    static final class ResponseTimer {
        private static final long NOT_YET = -1;

        private final LongSupplier nanoTime;
        private long sentAt;
        private long nanos = NOT_YET;
        private boolean running;

        ResponseTimer(LongSupplier nanoTime) {
            this.nanoTime = nanoTime;
        }

        /** The request is sent. */
        void sending() {
            sentAt = nanoTime.getAsLong();
            nanos = NOT_YET;
            running = true;
        }

        /** The response is received; only the first call since the request was sent counts. */
        void responded() {
            if (running) {
                running = false;
                nanos = nanoTime.getAsLong() - sentAt;
            }
        }

        /** Whether the response has been received since the request was sent. */
        boolean isKnown() {
            return nanos >= 0;
        }

        long nanos() {
            return nanos;
        }
    }
}

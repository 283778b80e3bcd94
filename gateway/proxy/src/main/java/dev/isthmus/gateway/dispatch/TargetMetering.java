package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** The layer that counts the requests of each target, by their outcome. */
final class TargetMetering implements Layer {
    @Override
    public String name() {
        return "target_metrics";
    }

    @Override
    public void targetEnded(Exchange exchange, @Nullable OipException failure) {
        TargetMeters.TargetMeter meter = meter(exchange);
        if (meter != null) {
            meter.ended(failure == null ? null : failure.code());
        }
    }

    /** The meter of the chosen target; null if there is none. */
    static TargetMeters.@Nullable TargetMeter meter(Exchange exchange) {
        RoutedCall routed = RoutedCall.in(exchange);
        Target target = routed == null ? null : routed.target();
        TargetMeters meters = routed == null ? null : routed.policies().targets();
        return target == null || meters == null ? null : meters.of(target.arm());
    }
}

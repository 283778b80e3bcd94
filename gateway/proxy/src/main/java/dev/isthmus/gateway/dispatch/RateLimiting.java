package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.limit.RateLimits;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The layer that counts requests, and their bytes, on the rate limits of their route. */
final class RateLimiting implements Layer {
    private static final Slot<RateLimits.Charge> CHARGE = new Slot<>();

    @Override
    public String name() {
        return "rate_limits";
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        RoutedCall routed = RoutedCall.in(exchange);
        RateLimits limits = routed == null ? null : routed.policies().limits();
        if (limits == null) {
            return null;
        }
        RateLimits.Charge charge = limits.request(
                exchange.call().client()::value, exchange.context().principal().name());
        exchange.put(CHARGE, charge);
        return charge.undecided();
    }

    @Override
    public @Nullable CompletableFuture<?> sized(Exchange exchange, long length) {
        RateLimits.Charge charge = exchange.get(CHARGE);
        if (charge == null) {
            return null;
        }
        charge.body(length);
        return charge.undecided();
    }
}

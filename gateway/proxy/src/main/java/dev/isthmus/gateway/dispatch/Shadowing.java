package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** The layer that tells the shadows' copies of a request when no response to compare with will come. */
final class Shadowing implements Layer {
    @Override
    public String name() {
        return "shadows";
    }

    @Override
    public void targetEnded(Exchange exchange, @Nullable OipException failure) {
        finished(exchange);
    }

    @Override
    public void finished(Exchange exchange) {
        RoutedCall routed = RoutedCall.in(exchange);
        if (routed != null) {
            routed.endCopies();
        }
    }
}

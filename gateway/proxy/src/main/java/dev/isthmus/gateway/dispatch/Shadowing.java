package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** The layer that tells the copies of a request, which the shadows of its route get, when there is no response to it. */
final class Shadowing implements Layer {
    @Override
    public String name() {
        return "shadows";
    }

    @Override
    public void targetEnded(Exchange x, @Nullable OipException failure) {
        finished(x);
    }

    @Override
    public void finished(Exchange x) {
        RoutedCall routed = RoutedCall.in(x);
        if (routed != null) {
            routed.endCopies();
        }
    }
}

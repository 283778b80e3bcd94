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

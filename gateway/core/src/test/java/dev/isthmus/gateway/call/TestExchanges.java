package dev.isthmus.gateway.call;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;

/** Exchanges that pass no layers. */
public final class TestExchanges {
    private TestExchanges() {}

    /** One whose context is known, and which was rejected before it became a call. */
    public static Exchange of(CallContext context) {
        Layers none = new Layers(List.of(), x -> RequestSink.ENDED, new SimpleMeterRegistry(), System::nanoTime);
        return new Exchange(none, x -> RequestSink.ENDED, null, context, null, new DiscardingReply());
    }
}

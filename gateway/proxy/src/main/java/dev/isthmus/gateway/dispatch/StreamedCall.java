package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.OipException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One request of a stream, answered within it: neither its end nor its failure ends the stream. */
final class StreamedCall extends ForwardingReply {
    private final String id;
    private @Nullable RouteCall routed;

    /**
     * A request that was received.
     *
     * @param id empty if it has none
     * @param client the client's stream
     */
    StreamedCall(String id, Reply client) {
        super(client);
        this.id = id;
    }

    String id() {
        return id;
    }

    /** Sets the inference on its route, which replies here. */
    void routed(RouteCall call) {
        routed = call;
    }

    /** The inference on its route. */
    RouteCall routed() {
        return Objects.requireNonNull(routed);
    }

    @Override
    public void complete() {}

    @Override
    public void fail(OipException failure) {
        super.message(new ReplyMessage.StreamError(failure, id));
    }
}

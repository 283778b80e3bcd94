package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The request that an inference sends: the client's body, or what was decoded of it, and layers may have changed. Holds
 * its buffers until {@link #release()}.
 */
final class SentRequest {
    private final RequestBody body;
    private final ModelRef requested;
    private final Transcoder transcoder;
    private final CallContext context;
    /** Null as long as the body is sent as it is. */
    private @Nullable DecodedBody decoded;

    /**
     * A request that is sent as it is.
     *
     * @param requested the model as the client names it
     */
    SentRequest(RequestBody body, ModelRef requested, Transcoder transcoder, CallContext context) {
        this.body = body;
        this.requested = requested;
        this.transcoder = transcoder;
        this.context = context;
    }

    /** Whether it is sent as it was decoded. */
    boolean isDecoded() {
        return decoded != null;
    }

    /**
     * Decodes the body to be changed.
     *
     * @return owned by the caller, who {@linkplain #changed changes} it
     */
    DecodedBody original(ServerFeatures peer, ModelRef model) {
        return body.decode(peer, model);
    }

    /** From now on this is sent (taken). */
    void changed(DecodedBody other) {
        decoded = other;
    }

    /**
     * Decodes the body if it was not decoded yet: from now on it is sent as it was decoded.
     *
     * @param show receives the request's outline, and may refuse it; null for nobody
     * @return the form in which the client wants the target's response
     */
    ResponseForm decode(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        DecodedBody known = decoded == null ? body.decode(peer, model) : decoded;
        decoded = known;
        if (show != null) {
            show.accept(RequestOutline.of(known.request()));
        }
        return known.formOf(model, requested);
    }

    /** The id that the server gets, and has to repeat; empty for none. */
    String id() {
        return decoded == null ? body.id() : decoded.request().id();
    }

    /** What was decoded, with the model of a target; borrowed. */
    InferRequest decoded(ModelRef model) {
        return Objects.requireNonNull(decoded).request().withModel(model);
    }

    /**
     * Produces the request for a server.
     *
     * @param model the model to request from the server
     * @param show as for {@link #decode}
     */
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        if (decoded == null) {
            return body.prepare(peer, model, show);
        }
        if (show != null) {
            show.accept(RequestOutline.of(decoded.request()));
        }
        return decoded.retained(model, requested).encoded(transcoder, context.allocator(), peer);
    }

    /** Releases everything. Idempotent. */
    void release() {
        body.release();
        if (decoded != null) {
            decoded.message().release();
            decoded = null;
        }
    }
}

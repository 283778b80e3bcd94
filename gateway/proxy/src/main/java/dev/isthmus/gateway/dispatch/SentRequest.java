package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The request that an inference sends: the client's body, or what was decoded of it, and layers may have changed. Layers
 * see its outline before anything is produced from it.
 */
final class SentRequest implements InferSource {
    private final Exchange exchange;
    private final RoutedCall routed;
    private final ModelRef requested;
    private final Transcoder transcoder;
    private final RequestBody body;
    private final @Nullable InferCall call;
    /** Null as long as the body is sent as it is. */
    private @Nullable DecodedBody decoded;

    private boolean shown;
    private int holders = 1;

    /**
     * A request that is sent as it is.
     *
     * @param requested the model as the client names it
     * @param body taken
     * @param call gets the form in which the client wants the response; null if that is not the target's matter
     */
    SentRequest(
            Exchange exchange,
            ModelRef requested,
            Transcoder transcoder,
            RequestBody body,
            @Nullable InferCall call) {
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.requested = requested;
        this.transcoder = transcoder;
        this.body = body;
        this.call = call;
    }

    @Override
    public String id() {
        return decoded == null ? body.id() : decoded.request().id();
    }

    @Override
    public boolean needsMetadata() {
        return decoded == null && body.needsMetadata();
    }

    @Override
    public void describe(ModelMetadata metadata) {
        body.describe(metadata);
    }

    /** Whether it must be transformed before it is sent. */
    boolean transforms() {
        return decoded == null && exchange.transforms();
    }

    /**
     * Passes it to the layers that change it.
     *
     * @param then runs when they have, unless the call ends before
     */
    void transform(Target target, Runnable then) {
        DecodedBody original = body.decode(routed.features(target.upstream()), target.model());
        exchange.transform(original.request(), routed.call().deadlineNanos(), changed -> {
            decoded = original.with(changed);
            then.run();
        });
    }

    /** The layers have seen its outline. */
    void shown() {
        shown = true;
    }

    /** Shows its outline to the layers; null if they have seen it, or none wants to. */
    private @Nullable Consumer<RequestOutline> show() {
        if (shown || !exchange.showsOutline()) {
            return null;
        }
        shown = true;
        return exchange::parsed;
    }

    /** From now on it is sent as it was decoded. */
    @Override
    public InferRequest decoded(Upstream server, ModelRef model) {
        Consumer<RequestOutline> show = show();
        DecodedBody known = decoded == null ? body.decode(routed.features(server), model) : decoded;
        decoded = known;
        if (show != null) {
            show.accept(RequestOutline.of(known.request()));
        }
        if (call != null) {
            call.form(known.formOf(model, requested));
        }
        return known.request().withModel(model);
    }

    @Override
    public InferMessage encoded(Upstream server, ModelRef model) {
        RequestBody.UpstreamMessage prepared = prepare(routed.features(server), model, show());
        if (call != null) {
            call.form(prepared.form());
        }
        exchange.sending();
        return prepared.message();
    }

    @Override
    public InferMessage copied(ServerFeatures server, ModelRef model) {
        return prepare(server, model, null).message();
    }

    private RequestBody.UpstreamMessage prepare(ServerFeatures server, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        if (decoded == null) {
            return body.prepare(server, model, show);
        }
        if (show != null) {
            show.accept(RequestOutline.of(decoded.request()));
        }
        return decoded.retained(model, requested)
                .encoded(transcoder, exchange.context().allocator(), server);
    }

    @Override
    public void retain() {
        holders++;
    }

    @Override
    public void release() {
        if (holders > 0 && --holders == 0) {
            body.release();
            if (decoded != null) {
                decoded.message().release();
                decoded = null;
            }
        }
    }
}

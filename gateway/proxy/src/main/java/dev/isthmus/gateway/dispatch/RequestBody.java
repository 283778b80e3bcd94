package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.rest.Base64Inputs;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An inference request, gathered from one client wire, and produced for any number of servers, each in its own form: from
 * what was received, or from what was decoded of it, and layers may have changed. Layers see its outline before anything
 * is produced from it. Holds its buffers until each holder has released it.
 */
abstract class RequestBody implements InferSource {
    final Transcoder transcoder;
    final ByteBufAllocator allocator;
    /** The model as the client names it. */
    final ModelRef requested;

    final RoutedCall routed;
    private final Exchange exchange;
    private ResponseForm form = ResponseForm.DECODED;
    /** Null as long as what was received is sent. */
    private @Nullable DecodedBody decoded;

    private boolean shown;
    private int holders = 1;

    /**
     * An empty body.
     *
     * @param requested the model as the client names it
     */
    RequestBody(Exchange exchange, ModelRef requested, Transcoder transcoder) {
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.requested = requested;
        this.transcoder = transcoder;
        this.allocator = exchange.context().allocator();
    }

    /**
     * A request in the form of one server.
     *
     * @param message on the server's wire, owned by the receiver
     * @param form the form in which the client wants the server's response
     */
    record UpstreamMessage(InferMessage message, ResponseForm form) {}

    /**
     * Adds the next part.
     *
     * @param chunk taken
     * @throws dev.isthmus.oip.OipException if the request violates the protocol
     */
    abstract void add(ByteBuf chunk);

    /**
     * The body is complete.
     *
     * @throws dev.isthmus.oip.OipException if the request violates the protocol or is not complete
     */
    abstract void end();

    /**
     * The request as one that need not be gathered. Called after each part until it returns one; once that is started,
     * {@link #prepare} is not called any more.
     *
     * @return null until the head is complete and valid, and always if the request must be gathered
     */
    @Nullable
    StreamedRequest streamed() {
        return null;
    }

    /** The request's parameters; known after {@link #end()}, and as soon as {@link #streamed()} returns a request. */
    abstract Map<String, Parameter> parameters();

    /** The id that was received; known when the parameters are. */
    abstract String receivedId();

    /**
     * Produces what was received for a server, without copying what the body holds.
     *
     * @param model the model to request from the server
     * @param show receives the request's outline before anything else, and may refuse it; null for nobody
     * @throws dev.isthmus.oip.OipException if the request cannot be expressed for the server
     */
    abstract UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show);

    /**
     * Decodes what was received. Until {@link #releaseReceived()} the result shares what the body holds.
     *
     * @param peer the server that it is meant for
     * @param model the model to request from the server
     * @throws dev.isthmus.oip.OipException if it is invalid, or cannot be expressed for the server
     */
    abstract DecodedBody decode(ServerFeatures peer, ModelRef model);

    /** Bytes of memory held until the body ends; for a request that is forwarded in parts, those that wait. */
    abstract long held();

    /** Releases what was received. Idempotent. */
    abstract void releaseReceived();

    @Override
    public String id() {
        return decoded == null ? receivedId() : decoded.request().id();
    }

    /** The model's name in the response of a target, if the target has another one for it; null for the server's. */
    final @Nullable String responseModel(ModelRef model) {
        return model.name().equals(requested.name()) ? null : requested.name();
    }

    /** The form in which the client wants the response of the server that it was produced for last. */
    ResponseForm form() {
        return form;
    }

    /** Whether layers have changed it, for all servers. */
    boolean isTransformed() {
        return decoded != null && exchange.transforms();
    }

    /** What was decoded of it is not valid any more. */
    final void forget() {
        if (decoded != null) {
            decoded.message().release();
            decoded = null;
        }
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
        DecodedBody original = decode(routed.features(target.upstream()), target.model());
        exchange.transform(original.request(), routed.call().deadlineNanos(), changed -> {
            decoded = original.with(changed);
            then.run();
        });
    }

    /**
     * Starts to send the request in parts, after the layers have seen its outline.
     *
     * @return null if it is to be gathered for this target
     * @throws dev.isthmus.oip.OipException if a layer refuses it, or it cannot be expressed for the server
     */
    StreamedRequest.@Nullable StreamedMessage start(StreamedRequest streamed, Target target) {
        Consumer<RequestOutline> show = show();
        if (show != null) {
            show.accept(streamed.outline());
        }
        StreamedRequest.StreamedMessage started = streamed.start(routed.features(target.upstream()), target.model());
        if (started != null) {
            form = started.form();
            exchange.sending();
        }
        return started;
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
        DecodedBody known = decoded == null ? decode(routed.features(server), model) : decoded;
        decoded = known;
        if (show != null) {
            show.accept(RequestOutline.of(known.request()));
        }
        form = known.form().withModel(responseModel(model));
        return known.request().withModel(model);
    }

    @Override
    public InferMessage encoded(Upstream server, ModelRef model) {
        UpstreamMessage produced = produce(routed.features(server), model, show());
        form = produced.form();
        exchange.sending();
        return produced.message();
    }

    @Override
    public Map<String, Map<String, Parameter>> sharedOutputs() {
        return form.sharedOutputs();
    }

    @Override
    public InferMessage copied(ServerFeatures server, ModelRef model) {
        return produce(server, model, null).message();
    }

    private UpstreamMessage produce(ServerFeatures server, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        if (decoded == null) {
            return prepare(server, model, show);
        }
        if (show != null) {
            show.accept(RequestOutline.of(decoded.request()));
        }
        return decoded.retained(model, responseModel(model)).encoded(transcoder, allocator, server);
    }

    @Override
    public void retain() {
        holders++;
    }

    @Override
    public void release() {
        if (holders > 0 && --holders == 0) {
            releaseReceived();
            forget();
        }
    }

    /**
     * A request in the form of no server.
     *
     * @param message owned by the receiver
     * @param form the form in which the client wants the response
     * @param base64Texts the names of the inputs left in base64, because the server that it was decoded for decodes it
     */
    record DecodedBody(InferMessage.DecodedRequest message, ResponseForm form, Set<String> base64Texts) {

        DecodedBody(InferMessage.DecodedRequest message, ResponseForm form) {
            this(message, form, Set.of());
        }

        InferRequest request() {
            return message.request();
        }

        /** Shows its outline to a receiver that may refuse it: it is then released. */
        void show(Consumer<RequestOutline> shown) {
            try {
                shown.accept(RequestOutline.of(request()));
            } catch (RuntimeException refused) {
                message.release();
                throw refused;
            }
        }

        /** The same with another request (taken); this one is owned by another. */
        DecodedBody with(InferRequest changed) {
            return new DecodedBody(new InferMessage.DecodedRequest(changed, message.plainInputs()), form, base64Texts);
        }

        /**
         * The same for another target; shares the tensors' memory.
         *
         * @param named the model's name in the response; null for the server's
         */
        DecodedBody retained(ModelRef model, @Nullable String named) {
            InferRequest own = request().retained().withModel(model);
            return new DecodedBody(
                    new InferMessage.DecodedRequest(own, message.plainInputs()), form.withModel(named), base64Texts);
        }

        /** This request (taken) in the form of a server. */
        RequestBody.UpstreamMessage encoded(Transcoder transcoder, ByteBufAllocator allocator, ServerFeatures peer) {
            InferMessage sent = peer.dialect().base64()
                    ? message
                    : with(Base64Inputs.decoded(allocator, request(), base64Texts))
                            .message();
            return new RequestBody.UpstreamMessage(transcoder.request(allocator, sent, peer), form);
        }
    }
}

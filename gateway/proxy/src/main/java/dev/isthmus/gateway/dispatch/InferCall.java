package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.CallbackReply;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One inference: sends its request on the wire of the selected target, and its response in the form that the client asked
 * for, as a whole, while it arrives, or as fast as the client reads.
 */
final class InferCall extends ForwardingReply {
    private final Operation.Infer infer;
    private final Exchange exchange;
    private final CallContext context;
    private final RoutedCall routed;
    private final Transcoder transcoder;
    private final RequestBody request;
    private @Nullable Target target;
    private InferStage stage = InferStage.HELD;
    private Subscription inFlight = Subscription.NONE;

    private @Nullable PassThroughJson passThrough;
    private @Nullable JsonResponseWriter text;
    /** Whether the server's response is complete. */
    private boolean received;

    /** What becomes of the request. */
    private enum InferStage {
        /** The call releases it. */
        HELD,
        /** It is its target's, which releases it. */
        SENT,
        ENDED
    }

    /** @param request released when it is not needed any more */
    InferCall(Exchange exchange, Operation.Infer infer, Transcoder transcoder, RequestBody request) {
        super(exchange);
        this.exchange = exchange;
        this.context = exchange.context();
        this.routed = RoutedCall.of(exchange);
        this.infer = infer;
        this.transcoder = transcoder;
        this.request = request;
        // The time that the route gives it begins with its request.
        routed.call();
    }

    boolean isEnded() {
        return stage == InferStage.ENDED;
    }

    /** Sends the complete body to the selected target. */
    void send(Target chosen) {
        target = chosen;
        if (!request.needsMetadata()) {
            infer();
            return;
        }
        Reply described = new CallbackReply(request, this::infer, this::fail) {
            @Override
            public void redirected(OipException failure, ModelRef model) {
                target = routed.route().fallback(infer.model());
                exchange.redirected(failure, model);
            }
        };
        Subscription metadataCall = chosen.service()
                .send(routed.call(), new UpstreamRequest.ModelMetadataRequest(chosen.model()), described);
        // The metadata may have been received already, and the request sent.
        inFlight = inFlight == Subscription.NONE ? metadataCall : inFlight;
    }

    /**
     * Starts to send the request in parts.
     *
     * @return null if it is to be gathered for the selected target
     */
    @Nullable
    RequestUpload startUpload(Target chosen, StreamedRequest streamed) {
        StreamedRequest.StreamedMessage started = request.start(streamed, chosen);
        if (started == null) {
            return null;
        }
        RequestUpload upload = new RequestUpload(
                streamed, new UpstreamRequest.InferenceInParts(chosen.model(), started.length(), request.id()), this);
        inFlight = upload;
        upload.open(routed.call(), chosen.service());
        return upload;
    }

    private void infer() {
        Target chosen = target;
        if (isEnded() || chosen == null) {
            return;
        }
        try {
            if (request.transforms()) {
                request.transform(chosen, this::infer);
                return;
            }
            stage = InferStage.SENT;
            UpstreamRequest sending =
                    new UpstreamRequest.InferenceRequest(chosen.upstream(), chosen.model(), request, infer.stream());
            inFlight = chosen.service().send(routed.call(), sending, this).cancelIf(isEnded());
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, context));
        }
    }

    /** The client disconnected. */
    void cancel() {
        if (!isEnded()) {
            end();
            inFlight.cancel();
        }
    }

    /** The client is ready for more of the response. */
    void onReplyReady() {
        if (isEnded() || text == null) {
            inFlight.onReady();
            return;
        }
        try {
            text.write();
            completeIfSent();
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, context));
        }
    }

    /** The request is invalid, or the gateway failed: cancels what is in flight. */
    void abort(Throwable thrown) {
        if (!isEnded()) {
            inFlight.cancel();
            fail(CallLog.failureOf(thrown, context));
        }
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return request.form().passesParts(wire) && exchange.acceptsParts(wire, length);
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!isEnded()) {
            exchange.headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        if (isEnded()) {
            message.release();
            return;
        }
        try {
            switch (message) {
                case ReplyMessage.StreamError error -> exchange.message(error);
                case ReplyMessage.Part part -> part(part);
                case ReplyMessage.Inference inference -> whole(inference.message());
                default -> message.release();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            abort(e);
        }
    }

    /** @param message complete, taken */
    private void whole(InferMessage message) {
        ResponseForm form = request.form();
        if (!infer.stream() && Transcoder.writesText(message, form)) {
            text(transcoder.text(context.allocator(), message, form, context.memory()::source));
            return;
        }
        InferMessage converted = transcoder.response(context.allocator(), message, form, context.memory()::source);
        context.memory().source(0);
        exchange.message(new ReplyMessage.Inference(converted));
    }

    private void text(JsonResponseText json) {
        if (json.inParts() && exchange.acceptsParts(Wire.REST, json.bytes())) {
            exchange.responding();
            text = new JsonResponseWriter(json, context.memory(), exchange);
            text.begin();
        } else {
            RestBody whole = json.whole();
            context.memory().source(0);
            exchange.message(new ReplyMessage.Inference(new InferMessage.RestMessage(whole)));
        }
    }

    /** @param part taken */
    private void part(ReplyMessage.Part part) {
        ResponseForm form = request.form();
        if (form.wire() != Wire.REST) {
            exchange.message(part);
            return;
        }
        if (passThrough == null) {
            passThrough =
                    new PassThroughJson(context.allocator(), context.memory(), transcoder, part.jsonLength(), form);
        }
        ReplyMessage.Part checked = passThrough.add(part);
        if (checked != null) {
            exchange.message(checked);
        }
    }

    @Override
    public void complete() {
        received = true;
        completeIfSent();
    }

    /** Completes it if all was received, and, if it is written as fast as the client reads, written. */
    private void completeIfSent() {
        if (isEnded() || !received || (text != null && !text.written())) {
            return;
        }
        try {
            ReplyMessage.Part last = passThrough == null ? null : passThrough.end();
            if (last != null) {
                exchange.message(last);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            fail(CallLog.failureOf(e, context));
            return;
        }
        // The client may have cancelled the call as it received the last part.
        if (!isEnded()) {
            end();
            exchange.complete();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (isEnded()) {
            return;
        }
        boolean sends = inFlight instanceof RequestUpload upload && upload.waitsForClient();
        end();
        if (sends && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            // The elapsed time is the client's.
            exchange.excuseTarget();
        }
        exchange.fail(failure);
    }

    private void end() {
        boolean held = stage == InferStage.HELD;
        stage = InferStage.ENDED;
        if (passThrough != null) {
            passThrough.release();
        }
        if (text != null) {
            text.release();
        }
        if (held) {
            request.release();
        }
    }

    /** Writes a large JSON response as fast as its client reads it. The call holds the tensors until the last part. */
    private static final class JsonResponseWriter {
        private final JsonResponseText text;
        private final MemoryBudget.MemoryReservation memory;
        private final Reply client;
        /** A client that consumes a part at once calls back before the part's write has returned. */
        private boolean writing;

        private boolean finished;

        /** @param text taken */
        JsonResponseWriter(JsonResponseText text, MemoryBudget.MemoryReservation memory, Reply client) {
            this.text = text;
            this.memory = memory;
            this.client = client;
        }

        /**
         * Starts to write, and counts the source instead of the received bytes.
         *
         * @throws dev.isthmus.oip.OipException OVERLOADED if there is no memory
         */
        void begin() {
            memory.written(text.bytes());
            write();
        }

        /** Writes as much as the client accepts now. */
        void write() {
            if (writing) {
                return;
            }
            writing = true;
            while (!finished && client.isReady()) {
                ByteBuf part = text.next();
                if (part == null) {
                    release();
                } else {
                    client.message(new ReplyMessage.Part(part, ReplyMessage.Part.UNKNOWN, RestBody.ALL_JSON));
                }
            }
            writing = false;
        }

        /** Whether all of it was written. */
        boolean written() {
            return finished;
        }

        /** Releases everything. Idempotent. */
        void release() {
            if (!finished) {
                finished = true;
                text.release();
                memory.source(0);
            }
        }
    }

    /**
     * A REST response that is forwarded while it arrives: each part is validated first, nothing of a binary response is
     * forwarded before all of its JSON is valid, and the part that completes an announced length is held until the whole is
     * valid. So if something later is invalid, the client gets a response that is shorter than its length.
     */
    static final class PassThroughJson {
        /** Longer JSON in front of binary data is forwarded while it arrives, in bytes. */
        private static final int MAX_HELD = 256 << 10;

        private final ByteBufAllocator allocator;
        private final RestResponseReader reader;
        private final MemoryBudget.MemoryReservation memory;
        private final boolean holds;
        private long jsonLength;
        private long received;
        private boolean started;
        private @Nullable ByteBuf held;

        /**
         * Creates an empty response.
         *
         * @param memory counts the bytes held
         * @param jsonLength as in {@link ReplyMessage.Part#jsonLength()}
         */
        PassThroughJson(
                ByteBufAllocator allocator,
                MemoryBudget.MemoryReservation memory,
                Transcoder transcoder,
                long jsonLength,
                ResponseForm form) {
            this.allocator = allocator;
            this.memory = memory;
            this.reader = transcoder.passing(allocator, jsonLength, form);
            this.jsonLength = jsonLength;
            this.holds = jsonLength != RestBody.ALL_JSON && jsonLength <= MAX_HELD;
        }

        /**
         * Validates the next part.
         *
         * @param part taken
         * @return what to forward now; null for nothing yet
         * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it violates the protocol, OVERLOADED if there is no
         *     memory
         */
        ReplyMessage.@Nullable Part add(ReplyMessage.Part part) {
            received += part.bytes().readableBytes();
            try {
                reader.feed(part.bytes());
                memory.source(reader.held() + (held == null ? 0 : held.readableBytes()));
                requireJson();
            } catch (RuntimeException e) {
                part.release();
                throw e;
            }
            held = held == null ? part.bytes() : SmallParts.join(allocator, held, part.bytes());
            boolean last = received == part.length();
            if (last || (holds && !reader.complete())) {
                return null;
            }
            return forwarded(part.length());
        }

        private ReplyMessage.@Nullable Part forwarded(long length) {
            ByteBuf bytes = held;
            if (bytes == null) {
                return null;
            }
            held = null;
            if (!started && reader.complete() && reader.binarySize() == 0) {
                // KServe sends the length of its JSON even if no binary data follows.
                jsonLength = RestBody.ALL_JSON;
            }
            started = true;
            return new ReplyMessage.Part(SmallParts.complete(bytes), length, jsonLength);
        }

        /** A whole response with such words is written anew; this one has gone on in part. */
        private void requireJson() {
            if (reader.hasStrayWord()) {
                throw new OipException(
                        ErrorCode.BAD_UPSTREAM_ANSWER,
                        "the model's server sent NaN or an infinity outside the data of tensors, where JSON is expected");
            }
        }

        /**
         * Checks that the response is complete.
         *
         * @return the last part; null if it was forwarded, because its length was not announced
         * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is not complete
         */
        ReplyMessage.@Nullable Part end() {
            reader.end();
            return forwarded(received);
        }

        /** Releases everything. Idempotent. */
        void release() {
            reader.release();
            if (held != null) {
                held.release();
                held = null;
            }
            memory.source(0);
        }
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.ingress.RestResponse.JsonResponses;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One REST request and its response, the same over HTTP/1.1 and HTTP/2. The response is sent as a whole, in parts as they
 * arrive, or as server-sent events, whose status is sent with the first one, so that a later failure is an event. It may
 * start before the request's body has ended; the rest of the body is then released.
 */
final class RestExchange extends CallExchange {
    private final ResponseWriter writer;
    /** The limit on the body. */
    private long maxBytes;

    private long bodyBytes;
    /** Inflates the body; null if it is not compressed. */
    private @Nullable CompressedBody compressedBody;

    private Map<String, String> headers = Map.of();
    private @Nullable AsciiString id;
    /** Whether the request asks for a stream of events. */
    private boolean events;
    /** The content coding that the client accepts; null if there is none, or the response is not compressed. */
    private @Nullable ContentCoding accepted;
    /** A message that is sent when the call completes. */
    private @Nullable RestResponse whole;

    private ResponseProgress progress = ResponseProgress.UNSENT;

    /** What was sent of the response. */
    private enum ResponseProgress {
        UNSENT,
        /** The head of events, or of an empty response, and any number of events. */
        EVENTS,
        /** The head of a response that is forwarded as it arrives, and parts of it. */
        PARTS
    }

    /** @param calls receives the call, or the rejection of the request */
    RestExchange(ResponseWriter writer, IngressSettings settings, CallContext context, Service calls) {
        super(settings, context, calls);
        this.writer = writer;
    }

    @Override
    public void open(RequestHead head, Channel channel) {
        try {
            RestRoutes.PathRoute route = head.route();
            if (!route.accepts(head.method())) {
                headers(Map.of("allow", route.allow()));
                throw new OipException(ErrorCode.METHOD_NOT_ALLOWED, "Method Not Allowed");
            }
            Operation operation = route.operation();
            if (operation.permission().management()) {
                calls.checkHead(context, operation.permission());
                ManagementContentType.check(operation, head);
            }
            maxBytes = settings.bodies().maxBytes(operation);
            if (head.contentLength() > maxBytes) {
                throw tooLarge(head.contentLength() + " bytes");
            }
            events = (operation instanceof Operation.Infer infer && infer.stream())
                    || (operation instanceof Operation.Generate generate && generate.stream());
            // As Triton does: some clients always accept compression but expect it for inference only.
            if (settings.compressAbove() >= 0 && operation instanceof Operation.Infer) {
                accepted = ContentNegotiation.coding(head.all(HttpHeaderNames.ACCEPT_ENCODING));
            }
            Call call = new Call(operation, head.deadline(), head.forwarded(settings.forwarded()), context);
            HopCount.check(call.headers(), settings.maxHops());
            ContentCoding coding = coding(head.codings());
            CompressedBody body = coding == null ? null : new CompressedBody(coding, channel);
            compressedBody = body;
            if (body != null) {
                memory.gathered(body.bytes());
            }
            RequestSink opened = calls.open(call, this);
            sink = body == null ? opened : body.into(opened);
        } catch (OipException failure) {
            reject(failure);
        }
    }

    /**
     * The coding of the body; null if it is not compressed.
     *
     * @throws OipException UNSUPPORTED_MEDIA_TYPE if the coding is not supported
     */
    private @Nullable ContentCoding coding(List<String> codings) {
        if (codings.isEmpty()) {
            return null;
        }
        ContentCoding coding = codings.size() > 1 ? null : ContentCoding.of(codings.getFirst());
        if (coding == null) {
            headers(Map.of("accept-encoding", ContentCoding.ACCEPTED));
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Encoding: one of " + ContentCoding.ACCEPTED + " is expected, got '"
                            + String.join(", ", codings) + "'");
        }
        return coding;
    }

    @Override
    public void data(ByteBuf chunk) {
        bodyBytes += chunk.readableBytes();
        RequestSink to = sink;
        if (responded || to == null) {
            chunk.release();
        } else if (bodyBytes > maxBytes) {
            chunk.release();
            failCall(tooLarge(bodyBytes + " bytes or more"));
        } else {
            to.data(chunk);
        }
    }

    @Override
    public void end() {
        if (!responded && sink != null) {
            sink.end();
        }
    }

    @Override
    public boolean paused() {
        return !responded && sink != null && !sink.isReady();
    }

    @Override
    public boolean inOnePiece() {
        return sink != null && sink.inOnePiece();
    }

    @Override
    long queued() {
        return writer.queued();
    }

    @Override
    void discard() {
        endRequest();
        releaseWhole();
    }

    private void endRequest() {
        responded = true;
        if (compressedBody != null) {
            compressedBody.release();
        }
    }

    /** Releases a response that is not sent. */
    private void releaseWhole() {
        if (whole != null) {
            whole.body().release();
            whole = null;
        }
    }

    @Override
    public boolean isReady() {
        return writer.isWritable();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return !events && writer.abortable() && (accepted == null || length > ContentCoding.MOST_COMPRESSED);
    }

    @Override
    public void onReady() {
        writer.resumeRequest();
    }

    @Override
    public void identified(AsciiString call) {
        id = call;
    }

    @Override
    public void headers(Map<String, String> more) {
        if (!responded && progress == ResponseProgress.UNSENT && !more.isEmpty()) {
            headers = RestResponse.merged(headers, more);
        }
    }

    /** One that follows a complete response is dropped. */
    @Override
    public void message(ReplyMessage message) {
        if (responded || whole != null) {
            message.release();
            return;
        }
        try {
            if (message instanceof ReplyMessage.Part part) {
                begin(RestResponse.passed(part), ResponseProgress.PARTS);
                write(part.bytes());
            } else if (message instanceof ReplyMessage.StreamError error) {
                error(error.failure());
            } else if (events && message instanceof ReplyMessage.Inference inference) {
                begin(RestResponse.events(), ResponseProgress.EVENTS);
                InferMessage.RestMessage json = (InferMessage.RestMessage) inference.message();
                write(RestResponse.event(context.allocator(), json.body().content()));
            } else if (events && message instanceof ReplyMessage.Events forwarded) {
                begin(RestResponse.events(), ResponseProgress.EVENTS);
                write(forwarded.content());
            } else {
                // A server that does not stream sends one complete response for events, too.
                RestResponse rendered = RestResponse.of(message, settings.health());
                whole = rendered;
                memory.response(writer.queued() + rendered.body().readableBytes());
            }
        } catch (OipException failure) {
            failCall(failure);
        }
    }

    private void error(OipException failure) {
        if (progress != ResponseProgress.EVENTS) {
            throw failure;
        }
        writer.part(errorEvent(failure));
    }

    private ByteBuf errorEvent(OipException failure) {
        return RestResponse.event(context.allocator(), Unpooled.wrappedBuffer(JsonResponses.error(failure.message())));
    }

    private void begin(RestResponse head, ResponseProgress next) {
        if (progress == ResponseProgress.UNSENT) {
            progress = next;
            writer.begin(head.with(headers).identified(id));
        }
    }

    /** Writes the part (taken). */
    private void write(ByteBuf part) {
        try {
            memory.response(writer.queued() + part.readableBytes());
        } catch (OipException refused) {
            part.release();
            throw refused;
        }
        writer.part(part);
        memory.queued(writer.queued());
    }

    @Override
    public void complete() {
        if (responded) {
            return;
        }
        RestResponse complete = whole;
        if (complete == null && !events && progress != ResponseProgress.PARTS) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's response has no message"));
            return;
        }
        endRequest();
        whole = null;
        if (complete != null) {
            respond(compressed(complete.with(headers).identified(id)));
        } else {
            begin(RestResponse.events(), ResponseProgress.EVENTS);
            writer.endBody();
        }
    }

    /** Compresses a response (taken) if the client accepts that, the size makes it worthwhile, and memory suffices. */
    private RestResponse compressed(RestResponse plain) {
        int size = plain.body().readableBytes();
        if (accepted == null || size <= settings.compressAbove() || size > ContentCoding.MOST_COMPRESSED) {
            return plain;
        }
        ByteBuf packed = accepted.compress(context.allocator(), plain.body(), 0);
        return packed == null
                ? plain
                : plain.with(packed).with("content-encoding", accepted.token()).varying("accept-encoding");
    }

    /** Ends the response with a failure, in the form that is still possible. */
    @Override
    public void fail(OipException failure) {
        if (responded) {
            return;
        }
        endRequest();
        releaseWhole();
        switch (progress) {
            case UNSENT ->
                respond(RestResponse.error(failure)
                        .with(settings.causeHeader(context))
                        .with(headers)
                        .identified(id));
            case EVENTS -> {
                writer.part(errorEvent(failure));
                writer.endBody();
            }
            case PARTS -> {
                writer.abort();
                memory.release();
            }
        }
    }

    /** A body after HEAD would be parsed as the next response. */
    private void respond(RestResponse response) {
        boolean headOnly = context.headers().method().equals("HEAD");
        writer.respond(headOnly ? response.withoutBody() : response);
        memory.queued(writer.queued());
    }

    private OipException tooLarge(String got) {
        return new OipException(
                ErrorCode.PAYLOAD_TOO_LARGE, "request body: at most " + maxBytes + " bytes are accepted, got " + got);
    }

    /** A compressed body, inflated one {@link Turn} at a time, because a few bytes may expand to many. */
    private final class CompressedBody implements RequestSink {
        private final ContentInflater decoder;
        private final Turn turn;
        private RequestSink to = RequestSink.ENDED;
        private boolean ended;

        CompressedBody(ContentCoding coding, Channel channel) {
            InflationLimits limits =
                    new InflationLimits(maxBytes, settings.bodies().maxRatio());
            this.decoder = coding.decoder(channel.alloc(), limits);
            this.turn = new Turn(channel.eventLoop(), this::resume);
        }

        /** Sets what receives the inflated body; returns this. */
        CompressedBody into(RequestSink receiver) {
            to = receiver;
            return this;
        }

        /** Bytes of memory held: the decoder's state and the input that was not decoded. */
        int bytes() {
            return ContentInflater.HELD + decoder.waiting();
        }

        @Override
        public void data(ByteBuf part) {
            decoder.add(part);
            turn.giveWay();
            inflate();
        }

        /** Inflates received bytes until the turn ends. */
        private void inflate() {
            try {
                decoder.decode(() -> !turn.over(), inflated -> {
                    turn.took();
                    turn.tookBytes(inflated.readableBytes());
                    to.data(inflated);
                });
                if (!responded) {
                    memory.gathered(bytes());
                }
            } catch (RuntimeException | OutOfMemoryError thrown) {
                failCall(CallLog.failureOf(thrown, context));
            }
        }

        /** Continues in the next turn. */
        private void resume() {
            if (responded || decoder.done()) {
                return;
            }
            inflate();
            if (ended) {
                end();
            } else if (decoder.done()) {
                writer.resumeRequest();
            }
        }

        @Override
        public void end() {
            ended = true;
            if (responded || !decoder.done()) {
                return;
            }
            try {
                decoder.finish();
                release();
                to.end();
            } catch (RuntimeException | OutOfMemoryError thrown) {
                failCall(CallLog.failureOf(thrown, context));
            }
        }

        @Override
        public boolean isReady() {
            return decoder.done() && to.isReady();
        }

        @Override
        public boolean inOnePiece() {
            return to.inOnePiece();
        }

        @Override
        public void onReady() {
            to.onReady();
        }

        @Override
        public void cancel() {
            to.cancel();
        }

        /** Releases what was not inflated. Idempotent. */
        void release() {
            decoder.release();
            memory.gathered(0);
        }
    }

    /**
     * Refuses requests that change servers if a web page of another origin could have sent them without the browser asking
     * first: a POST without a content type, or with that of a form or a text (Fetch Standard, CORS-safelisted request
     * headers). Browsers say that they send it for a page: they set {@code Origin} in each POST, and {@code
     * Sec-Fetch-Site}. Other clients may send any content type, as curl and Triton's clients do.
     */
    private static final class ManagementContentType {
        private static final String SEC_FETCH_SITE = "sec-fetch-site";

        private ManagementContentType() {}

        /** @throws OipException UNSUPPORTED_MEDIA_TYPE */
        static void check(Operation operation, RequestHead head) {
            if (!(operation instanceof Operation.Manage manage) || !manage.change() || !isOfPage(head)) {
                return;
            }
            String type = head.value(HttpHeaderNames.CONTENT_TYPE.toString());
            if (type == null || isOfForm(type)) {
                throw new OipException(
                        ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                        "header Content-Type: application/json is expected from web pages"
                                + (type == null ? "" : ", got '" + type + "'"));
            }
        }

        private static boolean isOfPage(RequestHead head) {
            if (head.field(HttpHeaderNames.ORIGIN) != null) {
                return true;
            }
            for (String site : head.all(SEC_FETCH_SITE)) {
                if (!site.equals("none") && !site.equals("same-origin")) {
                    return true;
                }
            }
            return false;
        }

        private static boolean isOfForm(String type) {
            int end = type.indexOf(';');
            String media = (end < 0 ? type : type.substring(0, end)).strip().toLowerCase(Locale.ROOT);
            return media.isEmpty()
                    || media.startsWith("text/")
                    || media.startsWith("multipart/")
                    || media.equals("application/x-www-form-urlencoded");
        }
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One REST request and its response, the same over HTTP/1.1 and HTTP/2. The response may start before the request's
 * body has ended; the rest of the body is then released.
 */
final class RestExchange extends CallExchange {
    private final ResponseWriter writer;
    private final RestResponseSender response;
    private @Nullable OpenedRequest opened;
    private long bodyBytes;
    /** The request's body is complete. */
    private boolean ended;

    /**
     * The values of the request's head.
     *
     * @param maxBytes limit on the body
     * @param decoder of a compressed body
     */
    private record OpenedRequest(long maxBytes, @Nullable CompressedBody decoder) {}

    /** @param calls receives the call, or the rejection of the request */
    RestExchange(ResponseWriter writer, IngressSettings settings, CallContext context, Service calls) {
        super(settings, context, calls);
        this.writer = writer;
        this.response = new RestResponseSender(writer, settings, context);
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
            InflationLimits limits = settings.bodies().of(operation);
            if (head.contentLength() > limits.maxBytes()) {
                throw tooLarge(limits.maxBytes(), head.contentLength() + " bytes");
            }
            boolean events = (operation instanceof Operation.Infer infer && infer.stream())
                    || (operation instanceof Operation.Generate generate && generate.stream());
            // As Triton does: some clients always accept compression but expect it for inference only.
            boolean compresses = settings.compressAbove() >= 0 && operation instanceof Operation.Infer;
            response.form(
                    events, compresses ? ContentNegotiation.coding(head.all(HttpHeaderNames.ACCEPT_ENCODING)) : null);
            Call call = new Call(operation, head.deadline(), head.forwarded(settings.forwarded()), context);
            HopCount.check(call.headers(), settings.maxHops());
            CompressedBody decoder = decoder(head, channel, limits);
            opened = new OpenedRequest(limits.maxBytes(), decoder);
            memory.gathered(decoder == null ? 0 : decoder.held());
            sink = calls.open(call, this);
        } catch (OipException failure) {
            reject(failure);
        }
    }

    private @Nullable CompressedBody decoder(RequestHead head, Channel channel, InflationLimits limits) {
        try {
            return CompressedBody.of(head.codings(), channel, limits, this::resumeInflating);
        } catch (OipException unknown) {
            headers(Map.of("accept-encoding", ContentCoding.ACCEPTED));
            throw unknown;
        }
    }

    @Override
    public void data(ByteBuf chunk) {
        bodyBytes += chunk.readableBytes();
        RequestSink to = sink;
        OpenedRequest request = opened;
        if (responded || to == null || request == null) {
            chunk.release();
        } else if (bodyBytes > request.maxBytes()) {
            chunk.release();
            failCall(tooLarge(request.maxBytes(), bodyBytes + " bytes or more"));
        } else if (request.decoder() == null) {
            to.data(chunk);
        } else {
            request.decoder().add(chunk);
            inflate(request.decoder(), to);
        }
    }

    /** Decodes received bytes of a compressed body until the turn ends. */
    private void inflate(CompressedBody body, RequestSink to) {
        try {
            body.decode(to::data);
            if (!responded) {
                memory.gathered(body.held());
            }
        } catch (OipException malformed) {
            failCall(malformed);
        }
    }

    /** Continues decoding in the next turn. */
    private void resumeInflating() {
        CompressedBody body = body();
        RequestSink to = sink;
        if (responded || body == null || to == null || !body.hasRemaining()) {
            return;
        }
        inflate(body, to);
        if (body.hasRemaining()) {
            return;
        }
        if (ended) {
            end();
        } else {
            writer.resumeRequest();
        }
    }

    private @Nullable CompressedBody body() {
        return opened == null ? null : opened.decoder();
    }

    @Override
    public void end() {
        ended = true;
        RequestSink to = sink;
        CompressedBody body = body();
        if (responded || to == null || (body != null && body.hasRemaining())) {
            return;
        }
        if (body != null) {
            try {
                body.finish();
            } catch (OipException malformed) {
                failCall(malformed);
                return;
            }
            release(body);
        }
        if (!responded) {
            to.end();
        }
    }

    @Override
    public boolean paused() {
        CompressedBody body = body();
        return !responded && sink != null && (!sink.isReady() || (body != null && body.hasRemaining()));
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
        response.release();
    }

    private void endRequest() {
        responded = true;
        CompressedBody body = body();
        if (body != null) {
            release(body);
        }
    }

    private void release(CompressedBody body) {
        body.release();
        memory.gathered(0);
    }

    @Override
    public boolean isReady() {
        return writer.isWritable();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return opened != null && response.acceptsParts(length);
    }

    @Override
    public void onReady() {
        writer.resumeRequest();
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!responded) {
            response.headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        if (responded || opened == null) {
            message.release();
            return;
        }
        try {
            response.add(message);
        } catch (OipException failure) {
            failCall(failure);
        }
    }

    @Override
    public void complete() {
        if (responded) {
            return;
        }
        if (opened == null || !response.hasMessage()) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's response has no message"));
            return;
        }
        endRequest();
        response.complete();
    }

    @Override
    public void fail(OipException failure) {
        if (!responded) {
            endRequest();
            response.fail(failure);
        }
    }

    private static OipException tooLarge(long maxBytes, String got) {
        return new OipException(
                ErrorCode.PAYLOAD_TOO_LARGE, "request body: at most " + maxBytes + " bytes are accepted, got " + got);
    }

    /** A compressed body, inflated one {@link Turn} at a time, because a few bytes may expand to many. */
    private static final class CompressedBody {
        private final ContentInflater decoder;
        private final Turn turn;

        private CompressedBody(ContentInflater decoder, Turn turn) {
            this.decoder = decoder;
            this.turn = turn;
        }

        /**
         * Creates the decoder of a body.
         *
         * @param codings from the Content-Encoding header
         * @param resume must call {@link #decode}; run in the next turn if input is left
         * @return null if the body is not compressed
         * @throws OipException UNSUPPORTED_MEDIA_TYPE if the coding is not supported
         */
        static @Nullable CompressedBody of(
                List<String> codings, Channel channel, InflationLimits limits, Runnable resume) {
            if (codings.isEmpty()) {
                return null;
            }
            ContentCoding coding = codings.size() > 1 ? null : ContentCoding.of(codings.getFirst());
            if (coding == null) {
                throw new OipException(
                        ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                        "header Content-Encoding: one of " + ContentCoding.ACCEPTED + " is expected, got '"
                                + String.join(", ", codings) + "'");
            }
            return new CompressedBody(coding.decoder(channel.alloc(), limits), new Turn(channel.eventLoop(), resume));
        }

        /** @param part taken */
        void add(ByteBuf part) {
            decoder.add(part);
            turn.giveWay();
        }

        /**
         * Decodes buffered input until the turn ends.
         *
         * @param out receives the decoded buffers and owns them; it may release this body
         * @throws OipException as {@link ContentInflater#decode} does
         */
        void decode(Consumer<ByteBuf> out) {
            decoder.decode(() -> !turn.over(), inflated -> {
                turn.took();
                turn.tookBytes(inflated.readableBytes());
                out.accept(inflated);
            });
        }

        /** Whether input is left for the next turn. */
        boolean hasRemaining() {
            return !decoder.done();
        }

        /** Bytes of memory held: the decoder's state and the input that was not decoded. */
        int held() {
            return ContentInflater.HELD + decoder.waiting();
        }

        /**
         * Checks that the body is complete. All input must have been decoded.
         *
         * @throws OipException as {@link ContentInflater#finish} does
         */
        void finish() {
            decoder.finish();
        }

        /** Releases everything. Idempotent. */
        void release() {
            decoder.release();
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

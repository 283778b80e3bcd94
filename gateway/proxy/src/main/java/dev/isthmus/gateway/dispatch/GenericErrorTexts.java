package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.ByteProcessor;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hides upstream servers' error texts and upstreams' names from clients: they get a fixed text for each code, and the
 * id of their request, with which the full text is logged. The gateway's own messages about a request are not changed.
 * If so configured, neither are the servers' texts about a client's mistake, except for what is {@link RedactedText}.
 */
final class GenericErrorTexts implements Layer {
    private static final Logger LOG = LoggerFactory.getLogger(GenericErrorTexts.class);
    private static final int MAX_LOGGED = 2000;

    private final boolean showsMistakes;
    private final RoutingTable routes;

    /**
     * @param showsMistakes whether clients get a server's text about their own mistake
     * @param routes know by which names servers know a model
     */
    GenericErrorTexts(boolean showsMistakes, RoutingTable routes) {
        this.showsMistakes = showsMistakes;
        this.routes = routes;
    }

    @Override
    public String name() {
        return "error_texts";
    }

    /** Returns the text that replaces a failure's own; null if its own may be shown. */
    private static @Nullable String fixed(OipException failure) {
        return switch (failure.code()) {
            case INTERNAL, UNKNOWN, DATA_LOSS -> "the request failed: " + failure.code();
            case DEADLINE_EXCEEDED -> "the upstream server did not respond in time";
            case BAD_UPSTREAM_ANSWER -> "the upstream server sent an invalid response";
            default -> failure.isConfidential() ? serverText(failure.code()) : null;
        };
    }

    private static String serverText(ErrorCode code) {
        return switch (code) {
            case UNAVAILABLE, OVERLOADED -> "the upstream server is unavailable";
            case UNIMPLEMENTED -> "the upstream server does not support the request";
            default -> "the upstream server rejected the request: " + code;
        };
    }

    /** Whether a server says with it that the request is wrong: 400, 404, 409, 413 and 415. */
    private static boolean isMistake(ErrorCode code) {
        return switch (code) {
            case INVALID_ARGUMENT,
                    FAILED_PRECONDITION,
                    OUT_OF_RANGE,
                    NOT_FOUND,
                    ALREADY_EXISTS,
                    ABORTED,
                    PAYLOAD_TOO_LARGE,
                    UNSUPPORTED_MEDIA_TYPE -> true;
            default -> false;
        };
    }

    /** The text with the model's name as the client knows it. */
    private String withRequestedName(String text, @Nullable ModelRef requested) {
        Route route = requested == null ? null : routes.find(requested);
        if (requested == null || route == null) {
            return text;
        }
        String renamed = text;
        for (String there : route.modelNames(requested)) {
            renamed = RedactedText.renamed(renamed, there, requested.name());
        }
        return renamed;
    }

    private static void log(ErrorCode code, CallContext context, String part, String text) {
        // That calls fail is a warning of the target's meters.
        CallLog.of(LOG.atInfo(), context)
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("code", code)
                .log(
                        "error text hidden from the client: {}{}{}{}: {}",
                        code,
                        context.requestId().isEmpty() ? "" : ", request id " + context.requestId(),
                        context.traceId() == null ? "" : ", trace id " + context.traceId(),
                        part.isEmpty() ? "" : ", message '" + part + "'",
                        text.length() > MAX_LOGGED ? text.substring(0, MAX_LOGGED) : text);
    }

    /** @param part the id of the failed message of a stream; empty for the call */
    private OipException generic(Exchange exchange, OipException failure, String part) {
        if (showsMistakes && failure.isServersText() && isMistake(failure.code())) {
            RedactedText shown = RedactedText.of(failure.message());
            if (!shown.text().isEmpty()) {
                return mistake(exchange, failure, shown, part);
            }
        }
        String fixed = fixed(failure);
        return fixed == null ? failure : hidden(exchange, failure, fixed, part);
    }

    private OipException mistake(Exchange exchange, OipException failure, RedactedText shown, String part) {
        ModelRef requested = exchange.isCall() ? exchange.call().operation().requestedModel() : null;
        String text = withRequestedName(shown.text(), requested);
        return shown.redacted() ? hidden(exchange, failure, text, part) : failure.withMessage(text);
    }

    private static OipException hidden(Exchange exchange, OipException failure, String shown, String part) {
        String requestId = exchange.context().requestId();
        log(failure.code(), exchange.context(), part, failure.message());
        return failure.withMessage(shown + (requestId.isEmpty() ? "" : " (request id " + requestId + ")"));
    }

    @Override
    public @Nullable ReplyMessage message(Exchange exchange, ReplyMessage message) {
        return switch (message) {
            case ReplyMessage.StreamError error ->
                new ReplyMessage.StreamError(generic(exchange, error.failure(), error.id()), error.id());
            case ReplyMessage.Events events -> generic(exchange, events);
            // The reason is available on the admin address.
            case ReplyMessage.Ready ready -> new ReplyMessage.Ready(ready.ready());
            default -> message;
        };
    }

    /**
     * Replaces the texts of error events, <code>data: {"error": …}</code> in one line; all other bytes are unchanged. Each
     * message has whole events, of which only the last one of a stream may lack its line break.
     */
    private ReplyMessage generic(Exchange exchange, ReplyMessage.Events events) {
        ByteBuf in = events.content();
        ErrorEventPrefix prefix = new ErrorEventPrefix();
        int error = in.forEachByte(prefix);
        if (error < 0) {
            return events;
        }
        CompositeByteBuf out = exchange.context().allocator().compositeBuffer(Integer.MAX_VALUE);
        for (; error >= 0; error = in.forEachByte(prefix)) {
            out.addComponent(true, in.readRetainedSlice(error + 1 - in.readerIndex()));
            int lineEnd = in.forEachByte(ByteProcessor.FIND_CRLF);
            int length = lineEnd < 0 ? in.readableBytes() : lineEnd - in.readerIndex();
            String text = in.toString(in.readerIndex(), Math.min(length, MAX_LOGGED), StandardCharsets.UTF_8);
            String shown = generic(exchange, new OipException(ErrorCode.UNKNOWN, text), "")
                    .message();
            out.addComponent(true, Unpooled.copiedBuffer(":\"" + shown + "\"}", StandardCharsets.UTF_8));
            in.skipBytes(length);
        }
        return new ReplyMessage.Events(out.addComponent(true, in));
    }

    @Override
    public OipException failure(Exchange exchange, OipException failure) {
        return generic(exchange, failure, "");
    }

    /**
     * Recognizes server-sent error events, <code>data: {"error": …}</code> in one line, by their start. Processes the bytes
     * of a stream in any number of parts, up to the end of the start of an error.
     */
    static final class ErrorEventPrefix implements ByteProcessor {
        /** The start of such a line; {@code ~} stands for any whitespace. */
        private static final String PREFIX = "data:~{~\"error\"";

        private static final int OTHER_LINE = -1;
        /** Length of the prefix that the line has matched so far; its whole length for the rest of the line. */
        private int matched;

        /** @return whether the line is not known to be an error */
        @Override
        public boolean process(byte octet) {
            boolean lineEnd = octet == '\n' || octet == '\r';
            matched = lineEnd ? 0 : matched < PREFIX.length() ? matched(octet) : matched;
            return matched < PREFIX.length();
        }

        private int matched(byte octet) {
            int at = matched;
            if (at == OTHER_LINE) {
                return at;
            }
            if (PREFIX.charAt(at) == '~') {
                if (octet == ' ' || octet == '\t') {
                    return at;
                }
                at++;
            }
            return PREFIX.charAt(at) == octet ? at + 1 : OTHER_LINE;
        }
    }
}

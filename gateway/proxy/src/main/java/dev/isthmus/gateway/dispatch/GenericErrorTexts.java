package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hides upstream servers' error texts and upstreams' names from clients: they get a fixed text for each code, and the
 * id of their request, with which the full text is logged. The gateway's own messages about a request are not changed.
 * If so configured, neither are the servers' texts about a client's mistake, except for what is {@link RedactedText}.
 */
final class GenericErrorTexts implements Layer {
    private static final Slot<GenericEventErrors> EVENTS = new Slot<>();
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
            case CANCELLED,
                    UNKNOWN,
                    DEADLINE_EXCEEDED,
                    PERMISSION_DENIED,
                    RESOURCE_EXHAUSTED,
                    UNIMPLEMENTED,
                    INTERNAL,
                    UNAVAILABLE,
                    DATA_LOSS,
                    UNAUTHENTICATED,
                    METHOD_NOT_ALLOWED,
                    REQUEST_TIMEOUT,
                    URI_TOO_LONG,
                    EXPECTATION_FAILED,
                    HEADERS_TOO_LARGE,
                    HTTP_VERSION_NOT_SUPPORTED,
                    OVERLOADED,
                    LOOP_DETECTED,
                    BAD_UPSTREAM_ANSWER -> false;
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

    private @Nullable ReplyMessage generic(Exchange exchange, ReplyMessage.Events events) {
        GenericEventErrors errors = exchange.get(EVENTS);
        if (errors == null) {
            errors = new GenericEventErrors(
                    exchange.context().allocator(),
                    text -> generic(exchange, new OipException(ErrorCode.UNKNOWN, text), "")
                            .message());
            exchange.put(EVENTS, errors);
        }
        ByteBuf shown = errors.replaceErrors(events.content());
        if (shown.isReadable()) {
            return new ReplyMessage.Events(shown);
        }
        shown.release();
        return null;
    }

    @Override
    public OipException failure(Exchange exchange, OipException failure) {
        return generic(exchange, failure, "");
    }
}

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
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
import org.slf4j.event.Level;

/**
 * Hides upstream servers' error texts and upstreams' names from clients: they get a fixed text for each code, and the
 * id of their request, with which the full text is logged. The gateway's own messages about a request are not changed.
 * If so configured, neither are the servers' texts about a client's mistake, except for what is {@link RedactedText}.
 */
final class GenericErrorTexts extends ForwardingService {
    private static final Logger LOG = LoggerFactory.getLogger(GenericErrorTexts.class);
    private static final int MAX_LOGGED = 2000;
    private static final int FIRST_SERVER_ERROR = 500;

    private final boolean showsMistakes;
    private final RoutingTable routes;

    /**
     * @param showsMistakes whether clients get a server's text about their own mistake
     * @param routes know by which names servers know a model
     */
    GenericErrorTexts(Service next, boolean showsMistakes, RoutingTable routes) {
        super(next);
        this.showsMistakes = showsMistakes;
        this.routes = routes;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        return super.open(call, new GenericReply(call, reply));
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
        Level level = code.httpStatus() < FIRST_SERVER_ERROR ? Level.INFO : Level.WARN;
        CallLog.of(LOG.atLevel(level), context)
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

    /** The reply to one call, on its event loop. */
    private final class GenericReply extends ForwardingReply {
        private final Call call;
        private @Nullable GenericEventErrors events;

        GenericReply(Call call, Reply client) {
            super(client);
            this.call = call;
        }

        /** @param part the id of the failed message of a stream; empty for the call */
        private OipException generic(OipException failure, String part) {
            if (showsMistakes && failure.isServersText() && isMistake(failure.code())) {
                RedactedText shown = RedactedText.of(failure.message());
                if (!shown.text().isEmpty()) {
                    return mistake(failure, shown, part);
                }
            }
            String fixed = fixed(failure);
            return fixed == null ? failure : hidden(failure, fixed, part);
        }

        private OipException mistake(OipException failure, RedactedText shown, String part) {
            String text = withRequestedName(shown.text(), call.operation().requestedModel());
            return shown.redacted() ? hidden(failure, text, part) : failure.withMessage(text);
        }

        private OipException hidden(OipException failure, String shown, String part) {
            String requestId = call.context().requestId();
            log(failure.code(), call.context(), part, failure.message());
            return failure.withMessage(shown + (requestId.isEmpty() ? "" : " (request id " + requestId + ")"));
        }

        private GenericEventErrors events() {
            GenericEventErrors existing = events;
            if (existing == null) {
                existing = new GenericEventErrors(
                        call.allocator(),
                        text -> generic(new OipException(ErrorCode.UNKNOWN, text), "")
                                .message());
                events = existing;
            }
            return existing;
        }

        @Override
        public void message(ReplyMessage message) {
            switch (message) {
                case ReplyMessage.StreamError error ->
                    super.message(new ReplyMessage.StreamError(generic(error.failure(), error.id()), error.id()));
                case ReplyMessage.Events part -> events(events().replaceErrors(part.content()));
                // The reason is available on the admin address.
                case ReplyMessage.Ready ready -> super.message(new ReplyMessage.Ready(ready.ready()));
                default -> super.message(message);
            }
        }

        /** @param part taken */
        private void events(ByteBuf part) {
            if (part.isReadable()) {
                super.message(new ReplyMessage.Events(part));
            } else {
                part.release();
            }
        }

        @Override
        public void fail(OipException failure) {
            // Before the text is replaced: operators see the full one.
            call.context().failed(failure);
            super.fail(generic(failure, ""));
        }
    }
}

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.net.LogRateLimiter;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hides from clients what servers say of failures and how upstreams are named: they get a fixed text for each code, and the
 * id of their request, with which the full text is logged. What the gateway itself says of a request stays as it is.
 */
final class GenericErrorTexts implements Service {
    private static final Logger LOG = LoggerFactory.getLogger(GenericErrorTexts.class);
    private static final String REQUEST_ID = "x-request-id";
    private static final Pattern PLAIN = Pattern.compile("[0-9A-Za-z._~:/+=@-]{1,128}");
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cntrl}\\u0085\\u2028\\u2029]+");
    private static final int MAX_LOGGED = 2000;
    private static final int FIRST_OF_SERVERS = 500;

    private final Service next;
    private final LogRateLimiter lines;

    /** @param nanoTime as {@link System#nanoTime()} */
    GenericErrorTexts(Service next, LongSupplier nanoTime) {
        this.next = next;
        this.lines = new LogRateLimiter(nanoTime);
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        return next.open(call, new Shown(call, reply));
    }

    /** The text in place of a failure's own; null where its own may be seen. */
    private static @Nullable String fixed(OipException failure) {
        return switch (failure.code()) {
            case INTERNAL, UNKNOWN, DATA_LOSS -> "the request failed: " + failure.code();
            case DEADLINE_EXCEEDED -> "the answer did not come in time";
            case BAD_UPSTREAM_ANSWER -> "the server behind the gateway gave an answer that is not the protocol's";
            default -> failure.isConfidential() ? ofServer(failure.code()) : null;
        };
    }

    private static String ofServer(ErrorCode code) {
        return switch (code) {
            case UNAVAILABLE, OVERLOADED -> "the server behind the gateway takes no requests now";
            case UNIMPLEMENTED -> "the server behind the gateway does not support the request";
            default -> "the server behind the gateway refused the request: " + code;
        };
    }

    private void log(ErrorCode code, @Nullable String requestId, String part, String text) {
        long leftOut = lines.next();
        if (leftOut < 0) {
            return;
        }
        String plain = CONTROL.matcher(text).replaceAll(" ");
        String line = "a client was not told of " + code
                + (requestId == null ? "" : ", request id " + requestId)
                + (part.isEmpty() ? "" : ", message '" + CONTROL.matcher(part).replaceAll(" ") + "'")
                + (leftOut == 0 ? "" : " (" + leftOut + " such lines were left out before)")
                + ": " + (plain.length() > MAX_LOGGED ? plain.substring(0, MAX_LOGGED) : plain);
        if (code.httpStatus() < FIRST_OF_SERVERS) {
            LOG.info("{}", line);
        } else {
            LOG.warn("{}", line);
        }
    }

    /** The reply to one call, on its event loop. */
    private final class Shown extends ForwardingReply {
        private final Call call;
        private @Nullable GenericEventErrors events;

        Shown(Call call, Reply client) {
            super(client);
            this.call = call;
        }

        /** The client's own id of the request; null where it has none that can be repeated anywhere. */
        private @Nullable String requestId() {
            String id = call.client().value(REQUEST_ID);
            return id != null && PLAIN.matcher(id).matches() ? id : null;
        }

        /** @param part the id of the message of a stream that failed; empty for the call */
        private OipException shown(OipException failure, String part) {
            String fixed = fixed(failure);
            if (fixed == null) {
                return failure;
            }
            String requestId = requestId();
            log(failure.code(), requestId, part, failure.message());
            return failure.saying(fixed + (requestId == null ? "" : " (request id " + requestId + ")"));
        }

        private GenericEventErrors events() {
            GenericEventErrors known = events;
            if (known == null) {
                known = new GenericEventErrors(
                        call.allocator(),
                        text -> shown(new OipException(ErrorCode.UNKNOWN, text), "")
                                .message());
                events = known;
            }
            return known;
        }

        @Override
        public void message(ReplyMessage answer) {
            switch (answer) {
                case ReplyMessage.StreamError error ->
                    super.message(new ReplyMessage.StreamError(shown(error.failure(), error.id()), error.id()));
                case ReplyMessage.Events part -> events(events().without(part.content()));
                // Why is told on the admin address.
                case ReplyMessage.Ready ready -> super.message(new ReplyMessage.Ready(ready.ready()));
                default -> super.message(answer);
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
            super.fail(shown(failure, ""));
        }
    }
}

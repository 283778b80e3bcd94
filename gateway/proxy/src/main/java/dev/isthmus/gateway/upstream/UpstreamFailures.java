package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The failures that arise between the gateway and one upstream. Their texts go to clients where those may see the names
 * of upstreams: no address is in them.
 *
 * @param ending whether the gateway is being stopped
 */
public record UpstreamFailures(String upstream, BooleanSupplier ending) {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);

    /** No connection could be made. */
    public OipException unreachable(@Nullable Throwable cause) {
        return failure(ErrorCode.UNAVAILABLE, "is not reachable", cause, Processed.NO);
    }

    /** The server refused the request unread: it is going away, or has too many. */
    public OipException refused(@Nullable Throwable cause) {
        return failure(ErrorCode.UNAVAILABLE, "accepts no more requests", cause, Processed.REFUSED);
    }

    /** The connection ended before the answer did. */
    public OipException connectionClosed(@Nullable Throwable cause) {
        return failure(ErrorCode.UNAVAILABLE, "closed the connection", cause, Processed.MAYBE);
    }

    /** The server broke the protocol, or our limits, and we closed the connection for it. */
    public OipException brokeProtocol(@Nullable Throwable cause) {
        return failure(ErrorCode.UNAVAILABLE, "violated HTTP/2, and its connection was closed", cause, Processed.MAYBE);
    }

    /** The server did not answer a PING, and we closed the connection for it. */
    public OipException silent(Duration patience) {
        return failure(
                ErrorCode.UNAVAILABLE,
                "did not answer a ping within " + duration(patience.toNanos()),
                null,
                Processed.MAYBE);
    }

    /** The upstream was closed on our side, before the request went out. */
    public OipException closed() {
        return closedHere(Processed.NO);
    }

    /** The upstream was closed on our side, while the request was under way. */
    public OipException closedUnderWay() {
        return closedHere(Processed.MAYBE);
    }

    private OipException closedHere(Processed processed) {
        return ending.getAsBoolean()
                ? new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down", null, processed)
                : failure(ErrorCode.UNAVAILABLE, "was taken out of service", null, processed);
    }

    /** Every connection is in use and the queue for them is full. */
    public OipException overloaded(int connections) {
        return failure(
                ErrorCode.UNAVAILABLE, "is busy on all of its " + connections + " connections", null, Processed.NO);
    }

    /** The deadline passed before the answer ended. */
    public OipException timedOut(long nanos, @Nullable Throwable cause) {
        return failure(ErrorCode.DEADLINE_EXCEEDED, "did not answer within " + duration(nanos), cause, Processed.MAYBE);
    }

    /** The answer is larger than configured. */
    public OipException answerTooLarge(long limit, @Nullable Throwable cause) {
        return badAnswer("sent an answer of more than " + limit + " bytes", cause);
    }

    /** The answer is not the protocol's. */
    public OipException badAnswer(String what, @Nullable Throwable cause) {
        return failure(ErrorCode.BAD_UPSTREAM_ANSWER, what, cause);
    }

    /** A failure whose text is "upstream 'name' " and {@code what}. */
    public OipException failure(ErrorCode code, String what, @Nullable Throwable cause) {
        return failure(code, what, cause, Processed.YES);
    }

    private OipException failure(ErrorCode code, String what, @Nullable Throwable cause, Processed processed) {
        return new OipException(code, "upstream '" + upstream + "' " + what, cause, processed).confidential();
    }

    /** Whole seconds from ten on, tenths below, milliseconds below a second: "60 s", "2.5 s", "250 ms". */
    private static String duration(long nanos) {
        long positive = Math.max(nanos, 0);
        if (positive < SECOND) {
            return positive / MILLISECOND + " ms";
        }
        if (positive < 10 * SECOND && positive % SECOND != 0) {
            return String.format(Locale.ROOT, "%.1f s", positive / (double) SECOND);
        }
        return Math.round(positive / (double) SECOND) + " s";
    }
}

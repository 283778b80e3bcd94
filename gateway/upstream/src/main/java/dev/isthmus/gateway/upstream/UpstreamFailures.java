package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Failures between the gateway and one upstream. Clients that may see upstream names see these messages, so they
 * contain no address.
 *
 * @param ending whether the gateway is shutting down
 */
public record UpstreamFailures(String upstream, BooleanSupplier ending) {

    private static final int MAX_LOCATION = 200;
    private static final Duration SOON = Duration.ofSeconds(1);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);

    /** Whether the failure means that the server cannot be reached, so that no model is ready on it. */
    public static boolean isUnreachable(OipException failure) {
        return failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED;
    }

    public OipException unreachable(@Nullable Throwable cause) {
        String what = ownProcess() ? "has no process at the moment: it is being started" : "is not reachable";
        return unavailable(FailureCause.CONNECT, what, cause, Processed.NO);
    }

    /** The server refused the request unprocessed: it is shutting down, or has reached its limit. */
    public OipException refused(@Nullable Throwable cause) {
        return unavailable(FailureCause.SERVER_REFUSED, "accepts no more requests", cause, Processed.REFUSED);
    }

    /** The connection ended before the response did. */
    public OipException connectionClosed(@Nullable Throwable cause) {
        String what = ownProcess() ? "has lost its process, which ended; it is started again" : "closed the connection";
        return unavailable(FailureCause.CONNECTION_LOST, what, cause, Processed.MAYBE);
    }

    /** Whether the server is the process of the local models: no other upstream may have its name. */
    private boolean ownProcess() {
        return upstream.equals(GatewayConfig.LOCAL);
    }

    /** The server violated the protocol or our limits, so we closed the connection. */
    public OipException protocolViolation(@Nullable Throwable cause) {
        return unavailable(
                FailureCause.BAD_RESPONSE, "violated HTTP/2, and its connection was closed", cause, Processed.MAYBE);
    }

    /** The server did not answer a PING, so we closed the connection. */
    public OipException pingTimeout(Duration timeout) {
        return unavailable(
                FailureCause.CONNECTION_LOST,
                "did not answer a ping within " + duration(timeout.toNanos()),
                null,
                Processed.MAYBE);
    }

    /** The upstream was closed on our side before the request was sent. */
    public OipException closed() {
        return closedHere(Processed.NO);
    }

    /** The upstream was closed on our side while the request was in flight. */
    public OipException closedInFlight() {
        return closedHere(Processed.MAYBE);
    }

    private OipException closedHere(Processed processed) {
        return ending.getAsBoolean()
                ? new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down", null, processed)
                        .because(FailureCause.SHUTDOWN)
                : unavailable(FailureCause.REMOVED, "was taken out of service", null, processed);
    }

    /** All connections are in use and the queue for them is full. */
    public OipException overloaded(int connections) {
        return unavailable(
                FailureCause.CONNECTIONS_FULL,
                "has all " + connections + " connections in use and its queue is full",
                null,
                Processed.NO);
    }

    /** The deadline passed before the response ended. */
    public OipException timedOut(long nanos, @Nullable Throwable cause) {
        return failure(
                ErrorCode.DEADLINE_EXCEEDED,
                FailureCause.TIMEOUT,
                "did not respond within " + duration(nanos),
                cause,
                Processed.MAYBE);
    }

    public OipException responseTooLarge(long limit, @Nullable Throwable cause) {
        return tooLarge("a response of more than " + limit + " bytes", cause);
    }

    /** The response announces more than its limit. */
    public OipException responseTooLarge(long limit, long announced) {
        return tooLarge("a response of " + announced + " bytes, at most " + limit + " are accepted", null);
    }

    /** The response exceeds a limit. What a client asks for may cause it, so it is no failure of the server. */
    public OipException tooLarge(String what, @Nullable Throwable cause) {
        return failure(
                ErrorCode.BAD_UPSTREAM_ANSWER,
                FailureCause.RESPONSE_TOO_LARGE,
                "sent " + what,
                cause,
                Processed.DROPPED);
    }

    /**
     * The server ended the connection within a stream of events that it had begun: uvicorn's way to report an exception,
     * such as MLServer's for a version that it does not have.
     */
    public OipException streamBroken(@Nullable Throwable cause) {
        return failure(
                ErrorCode.INTERNAL,
                FailureCause.BAD_RESPONSE,
                "broke off its stream of events",
                cause,
                Processed.MAYBE);
    }

    /** A status of 300 to 399, which is mostly a redirect. */
    public OipException notFollowed(int status, @Nullable CharSequence location) {
        if (location == null) {
            return badResponse("returned status " + status, null);
        }
        // What follows may be a secret.
        String to = location.toString().split("[?#]", 2)[0];
        return badResponse(
                "redirects to '" + to.substring(0, Math.min(to.length(), MAX_LOCATION)) + "' (status " + status
                        + "), which is not followed: 'endpoints', 'tls', 'host' or 'path_prefix' must be another one",
                null);
    }

    /** There is no direct memory for the response, which is no failure of the server. */
    public static OipException noMemory() {
        return OipException.responseDropped(ErrorCode.OVERLOADED, "out of memory for the response", SOON);
    }

    /** The response violates the protocol. */
    public OipException badResponse(String what, @Nullable Throwable cause) {
        return failure(ErrorCode.BAD_UPSTREAM_ANSWER, FailureCause.BAD_RESPONSE, what, cause, Processed.YES);
    }

    /** A status of the server, with the message "upstream 'name' " followed by {@code what}. */
    public OipException ofStatus(ErrorCode code, String what, @Nullable Throwable cause) {
        return failure(code, FailureCause.SERVER, what, cause, Processed.YES);
    }

    private OipException unavailable(FailureCause why, String what, @Nullable Throwable cause, Processed processed) {
        return failure(ErrorCode.UNAVAILABLE, why, what, cause, processed);
    }

    private OipException failure(
            ErrorCode code, FailureCause why, String what, @Nullable Throwable cause, Processed processed) {
        return OipException.ofUpstream(code, why, "upstream '" + upstream + "' " + what, cause, processed);
    }

    /** Whole seconds from ten seconds on, tenths below, milliseconds below one second: "60 s", "2.5 s", "250 ms". */
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

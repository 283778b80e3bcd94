package dev.isthmus.oip;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The only failure type of the gateway. Its message is sent to the client: it names the value and the expectation, and
 * never contains a path, an upstream's address or a stack trace.
 */
public final class OipException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How far a server got with the failed request. */
    public enum Processed {
        /** No server started processing it: none received it, or the server rejected it without processing. */
        NO,
        /** A healthy server rejected it without processing: GOAWAY or REFUSED_STREAM (RFC 9113, 8.7). */
        REFUSED,
        /** A server may have processed it: the request was sent, and no response was received. */
        MAYBE,
        /** A server responded, or the failure is not a server's. */
        YES,
        /** A server responded, and its response was dropped because a limit of the gateway is reached. */
        DROPPED
    }

    private final ErrorCode code;
    private final FailureCause failureCause;
    private final Processed processed;
    private final @Nullable Duration retryAfter;
    private final @Nullable Duration serverDelay;
    private final TextSource source;

    /** Where the message comes from. */
    private enum TextSource {
        /** The gateway, about the request: for any client. */
        GATEWAY,
        /** The gateway, naming what is behind it. */
        CONFIDENTIAL,
        SERVER
    }

    public OipException(ErrorCode code, String message) {
        this(code, message, null);
    }

    public OipException(ErrorCode code, String message, @Nullable Throwable cause) {
        this(code, message, cause, Processed.YES);
    }

    public OipException(ErrorCode code, String message, @Nullable Throwable cause, Processed processed) {
        this(
                code,
                cause instanceof OipException first ? first.failureCause : code.usualCause(),
                message,
                cause,
                processed,
                null,
                null,
                TextSource.GATEWAY);
    }

    private OipException(
            ErrorCode code,
            FailureCause failureCause,
            String message,
            @Nullable Throwable cause,
            Processed processed,
            @Nullable Duration retryAfter,
            @Nullable Duration serverDelay,
            TextSource source) {
        // Client errors are frequent and the message tells their origin: no stack trace unless there is a cause.
        super(message, cause, false, cause != null);
        this.code = code;
        this.failureCause = failureCause;
        this.processed = processed;
        this.retryAfter = retryAfter;
        this.serverDelay = serverDelay;
        this.source = source;
    }

    /** A request rejected before processing because a limit is reached, with the delay after which to retry. */
    public static OipException refused(ErrorCode code, String message, Duration retryAfter) {
        return withRetry(code, message, Processed.NO, retryAfter);
    }

    /**
     * A response dropped because a limit is reached, although its request was executed, with the delay after which to
     * retry.
     */
    public static OipException responseDropped(ErrorCode code, String message, Duration retryAfter) {
        return withRetry(code, message, Processed.DROPPED, retryAfter);
    }

    private static OipException withRetry(ErrorCode code, String message, Processed processed, Duration retryAfter) {
        return new OipException(
                code, code.usualCause(), message, null, processed, retryAfter, null, TextSource.GATEWAY);
    }

    /** A request for which there is no direct memory now. Exhaustion of the heap ends the process. */
    public static OipException outOfMemory(Throwable exhausted) {
        return new OipException(ErrorCode.OVERLOADED, "out of memory for the request", exhausted);
    }

    /** A request that violates the protocol or does not match the model. */
    public static OipException invalid(String message) {
        return new OipException(ErrorCode.INVALID_ARGUMENT, message);
    }

    /** A request that violates gRPC, which has INTERNAL for that. */
    public static OipException misframed(String message) {
        return new OipException(ErrorCode.INTERNAL, message).because(FailureCause.INVALID);
    }

    /** The same failure marked confidential: its message names a server, and is sent to clients only if so configured. */
    public OipException confidential() {
        return changed(failureCause, message(), TextSource.CONFIDENTIAL);
    }

    /** The same failure with another cause than the usual one of its code. */
    public OipException because(FailureCause other) {
        return changed(other, message(), source);
    }

    private OipException changed(FailureCause why, String message, TextSource from) {
        return new OipException(code, why, message, getCause(), processed, retryAfter, serverDelay, from);
    }

    /** A failure between the gateway and an upstream, which the message names: it is confidential. */
    public static OipException ofUpstream(
            ErrorCode code, FailureCause why, String message, @Nullable Throwable cause, Processed processed) {
        return new OipException(code, why, message, cause, processed, null, null, TextSource.CONFIDENTIAL);
    }

    /** A failure that a server reports in its own words, which are sent to clients only if so configured. */
    public static OipException ofServer(ErrorCode code, String text) {
        return new OipException(code, FailureCause.SERVER, text, null, Processed.YES, null, null, TextSource.SERVER);
    }

    /** The same failure of a server that asks for this time before the next request. */
    public OipException withServerDelay(Duration delay) {
        return new OipException(code, failureCause, message(), getCause(), processed, retryAfter, delay, source);
    }

    /** The same failure with a message that may be sent to any client. */
    public OipException withMessage(String other) {
        return new OipException(
                code, failureCause, other, null, processed, retryAfter, serverDelay, TextSource.GATEWAY);
    }

    /** Whether the message is sent to clients only if so configured. */
    public boolean isConfidential() {
        return source != TextSource.GATEWAY;
    }

    /** Whether the message was written by a server; it is confidential then. */
    public boolean isServersText() {
        return source == TextSource.SERVER;
    }

    public ErrorCode code() {
        return code;
    }

    /** Why it failed: more precise than the code, and the same over either protocol. */
    public FailureCause failureCause() {
        return failureCause;
    }

    /** Whether the request may have been executed; decides whether it may be retried. */
    public Processed processed() {
        return processed;
    }

    /** Whether the request was executed and its response dropped because a limit is reached; no server failed. */
    public boolean isResponseDropped() {
        return processed == Processed.DROPPED;
    }

    /** The delay after which the client may retry; empty if unknown. */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** The time that the server asked for before the next request to it; empty if it has not. */
    public Optional<Duration> serverDelay() {
        return Optional.ofNullable(serverDelay);
    }

    /** The message sent to the client. */
    public String message() {
        String message = getMessage();
        return message == null ? code.name() : message;
    }
}

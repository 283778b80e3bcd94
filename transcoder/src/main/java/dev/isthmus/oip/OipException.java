package dev.isthmus.oip;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The only failure inside. Its message is shown to the client: it names value and expectation, and never a path, an
 * upstream's address or a stack.
 */
public final class OipException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How far a server came with the request that failed. */
    public enum Processed {
        /** It has not begun it: it never got it, or refused it unread. */
        NO,
        /** A server that works handed it back unread: GOAWAY or REFUSED_STREAM (RFC 9113, 8.7). */
        REFUSED,
        /** It may have: it got the request, and nothing was heard of it. */
        MAYBE,
        /** It answered, or the failure is not a server's. */
        YES
    }

    private final ErrorCode code;
    private final Processed processed;
    private final @Nullable Duration retryAfter;
    private final boolean confidential;

    public OipException(ErrorCode code, String message) {
        this(code, message, null);
    }

    public OipException(ErrorCode code, String message, @Nullable Throwable cause) {
        this(code, message, cause, Processed.YES);
    }

    public OipException(ErrorCode code, String message, @Nullable Throwable cause, Processed processed) {
        this(code, message, cause, processed, null, false);
    }

    private OipException(
            ErrorCode code,
            String message,
            @Nullable Throwable cause,
            Processed processed,
            @Nullable Duration retryAfter,
            boolean confidential) {
        // Client errors are frequent and their origin is in the message: no stack trace unless there is a cause.
        super(message, cause, false, cause != null);
        this.code = code;
        this.processed = processed;
        this.retryAfter = retryAfter;
        this.confidential = confidential;
    }

    /** A request that nobody has begun because there is no room for it, and when there may be. */
    public static OipException refused(ErrorCode code, String message, Duration retryAfter) {
        return new OipException(code, message, null, Processed.NO, retryAfter, false);
    }

    /** An answer that there is no room for, though its request was executed, and when there may be. */
    public static OipException answerDropped(ErrorCode code, String message, Duration retryAfter) {
        return new OipException(code, message, null, Processed.YES, retryAfter, false);
    }

    /** A request that breaks the protocol or does not fit the model. */
    public static OipException invalid(String message) {
        return new OipException(ErrorCode.INVALID_ARGUMENT, message);
    }

    /** The same failure, whose message a server wrote or names what is behind the gateway: shown to clients by choice only. */
    public OipException confidential() {
        return new OipException(code, message(), getCause(), processed, retryAfter, true);
    }

    /** The same failure with a message that any client may see. */
    public OipException saying(String other) {
        return new OipException(code, other, null, processed, retryAfter, false);
    }

    /** Whether clients may not see the message unless that was chosen. */
    public boolean isConfidential() {
        return confidential;
    }

    public ErrorCode code() {
        return code;
    }

    /** Whether the request may have been executed: what may be tried again depends on it. */
    public Processed processed() {
        return processed;
    }

    /** Whether the request was executed, and its answer dropped because there is no room for it: no server failed. */
    public boolean dropsAnswer() {
        return processed == Processed.YES && retryAfter != null;
    }

    /** When the client may ask again; empty where nothing is known of it. */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** What the client is shown. */
    public String message() {
        String message = getMessage();
        return message == null ? code.name() : message;
    }
}

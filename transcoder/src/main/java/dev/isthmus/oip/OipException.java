package dev.isthmus.oip;

import org.jspecify.annotations.Nullable;

/**
 * The only failure inside. Its message is shown to the client: it names value and expectation, and never a path, an
 * upstream's address or a stack.
 */
public final class OipException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;

    public OipException(ErrorCode code, String message) {
        this(code, message, null);
    }

    public OipException(ErrorCode code, String message, @Nullable Throwable cause) {
        // Client errors are frequent and their origin is in the message: no stack trace unless there is a cause.
        super(message, cause, false, cause != null);
        this.code = code;
    }

    /** A request that breaks the protocol or does not fit the model. */
    public static OipException invalid(String message) {
        return new OipException(ErrorCode.INVALID_ARGUMENT, message);
    }

    public ErrorCode code() {
        return code;
    }

    /** What the client is shown. */
    public String message() {
        String message = getMessage();
        return message == null ? code.name() : message;
    }
}

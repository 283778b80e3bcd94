package dev.isthmus.bench.faults;

import java.util.Locale;

/**
 * The outcome of a request.
 *
 * @param kind as seen by the client
 * @param detail the status, or empty
 */
record Outcome(Kind kind, String detail) {
    /** Outcomes that a client can distinguish. */
    enum Kind {
        /** The complete response to this request. */
        OK,
        /** An error response. */
        STATUS,
        /** The connection or stream ended before a response began, or could not be opened. */
        RESET,
        /** No response within the client's timeout. */
        TIMEOUT,
        /** A response that ended early or does not belong to the request. */
        TRUNCATED,
        /** Not sent, because too many requests were in flight. */
        UNSENT
    }

    static final Outcome OK = new Outcome(Kind.OK, "");
    static final Outcome RESET = new Outcome(Kind.RESET, "");
    static final Outcome TIMEOUT = new Outcome(Kind.TIMEOUT, "");
    static final Outcome TRUNCATED = new Outcome(Kind.TRUNCATED, "");
    static final Outcome UNSENT = new Outcome(Kind.UNSENT, "");

    static Outcome status(String status) {
        return new Outcome(Kind.STATUS, status);
    }

    /** The text in the report. */
    String text() {
        return detail.isEmpty() ? kind.name().toLowerCase(Locale.ROOT) : detail;
    }
}

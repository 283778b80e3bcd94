package dev.isthmus.bench.faults;

import java.util.Locale;

/**
 * How a request ended.
 *
 * @param kind what the client saw
 * @param detail the status, or nothing
 */
record Outcome(Kind kind, String detail) {
    /** What a client can see. */
    enum Kind {
        /** The answer to this request, whole. */
        OK,
        /** An answer that says that it failed. */
        STATUS,
        /** The connection or stream ended before an answer began, or could not be made. */
        RESET,
        /** No answer within the client's limit. */
        TIMEOUT,
        /** An answer that ended early or does not belong to the request. */
        TRUNCATED,
        /** Not sent, since too many were under way. */
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

    /** As it stands in the report. */
    String text() {
        return detail.isEmpty() ? kind.name().toLowerCase(Locale.ROOT) : detail;
    }
}

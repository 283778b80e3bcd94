package dev.isthmus.gateway.redis;

import io.netty.util.ByteProcessor;

/**
 * Reads answers in RESP 2 as they arrive, and stops at the first byte of one that no command of the gateway has: its
 * scripts return flat lists of numbers and strings. Keeps no bytes.
 */
final class AnswerGrammar implements ByteProcessor {
    static final int MAX_BYTES = 1 << 20;
    /** The drained servers are the longest list: two for each. */
    static final int MAX_ELEMENTS = 1024;

    private static final int MAX_DIGITS = 18;
    private static final int RADIX = 10;
    private static final int LINE_END_BYTES = 2;
    /** A server that refuses a connection says so unasked. */
    private static final int UNASKED = 1;

    private ExpectedPart state = ExpectedPart.TYPE;
    private byte type;
    private byte last;
    private boolean negative;
    private int digits;
    /** What the line declares; then what is missing of a string. */
    private long number;

    private int missingElements;
    private int bytes;
    private long expected = UNASKED;
    private String problem = "";

    private enum ExpectedPart {
        TYPE,
        LINE,
        STRING
    }

    /** Commands were sent, each of which has one answer. */
    void asked(int commands) {
        expected += commands;
    }

    /** Why the answers were not read on. */
    String problem() {
        return problem;
    }

    @Override
    public boolean process(byte value) {
        if (++bytes > MAX_BYTES) {
            return refuse("an answer of more than " + MAX_BYTES + " bytes");
        }
        return switch (state) {
            case TYPE -> type(value);
            case LINE -> line(value);
            case STRING -> --number > 0 || complete();
        };
    }

    private boolean type(byte value) {
        if (expected == 0) {
            return refuse("an answer that nobody asked for");
        }
        boolean known = switch (value) {
            case '+', '-', ':', '$' -> true;
            case '*' -> missingElements == 0;
            default -> false;
        };
        type = value;
        last = value;
        negative = false;
        number = 0;
        digits = 0;
        state = ExpectedPart.LINE;
        return known || refuse("an answer with an element of type " + value);
    }

    private boolean line(byte value) {
        if (value == '\n') {
            return last == '\r' ? lineEnd() : refuse("a line that does not end with CR LF");
        }
        boolean valid = (type != '$' && type != '*') || value == '\r' || length(value);
        last = value;
        return valid || refuse("a length that is not a number of at most " + MAX_DIGITS + " digits");
    }

    private boolean length(byte value) {
        if (value == '-' && last == type) {
            negative = true;
            return true;
        }
        number = number * RADIX + (value - '0');
        return value >= '0' && value <= '9' && last != '\r' && ++digits <= MAX_DIGITS;
    }

    private boolean lineEnd() {
        return switch (type) {
            case '$' -> negative ? complete() : string();
            case '*' -> (negative || number == 0) ? complete() : list();
            default -> complete();
        };
    }

    private boolean string() {
        if (number > MAX_BYTES) {
            return refuse("a string of " + number + " bytes, at most " + MAX_BYTES + " are expected");
        }
        number += LINE_END_BYTES;
        state = ExpectedPart.STRING;
        return true;
    }

    private boolean list() {
        if (number > MAX_ELEMENTS) {
            return refuse("a list of " + number + " elements, at most " + MAX_ELEMENTS + " are expected");
        }
        missingElements = (int) number;
        state = ExpectedPart.TYPE;
        return true;
    }

    private boolean complete() {
        state = ExpectedPart.TYPE;
        if (missingElements == 0 || --missingElements == 0) {
            bytes = 0;
            expected--;
        }
        return true;
    }

    private boolean refuse(String what) {
        problem = what;
        return false;
    }
}

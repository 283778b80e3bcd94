package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.ArrayView;
import io.netty.util.concurrent.FastThreadLocal;

/**
 * Skims arrays of numbers, 6,656, 64 or eight bytes at a time: checks the grammar (RFC 8259, 6) and counts the numbers
 * without reading their values. Refuses numbers that must be read to be validated: exponents that are not negative, and
 * {@code -0}, whose sign some servers lose.
 */
public final class NumberScanner {
    /** Longer numbers may be out of a float's range and must be read. */
    private static final int MAX_CHARACTERS = 38;

    private static final int MAX_PAUSE = 16 * 1024;
    private static final int MAX_STRIPE_PAUSE = 1023;

    /** The maximum length of a skimmed number with the white space around it. */
    static final int MAX_UNSEPARATED = 128;

    private static final long LOW = 0x7f7f_7f7f_7f7f_7f7fL;
    private static final long COMMAS = 0x2c2c_2c2c_2c2c_2c2cL;

    /** What skims many numbers at a time: one for each thread, because it has 11 KB and no state between calls. */
    private record LongRuns(NumberStripes stripes, NumberBlocks blocks) {
        static final FastThreadLocal<LongRuns> OF_THREAD = new FastThreadLocal<>() {
            @Override
            protected LongRuns initialValue() {
                return new LongRuns(new NumberStripes(), new NumberBlocks());
            }
        };
    }

    private final ArrayListener listener;
    private int maxLevels;
    private int maxBytes;
    private int state;
    private int level;
    /** Elements of this array, since its last inner array, that were not reported to {@link #listener} yet. */
    private long elements;
    /** Bytes of the current number; white space after a comma may be counted too. */
    private int length;

    /** Bytes that are skimmed otherwise after the blocks have ended: more each time that they are hardly of use. */
    private int pause;

    /** How often blocks begin without stripes before them. */
    private int withoutStripes;
    /** What that will be if the next stripes are hardly of use: more each time. */
    private int stripePause;

    private int markedState;
    private int markedLevel;
    private long markedElements;

    /** @param listener receives the arrays and their element counts */
    public NumberScanner(ArrayListener listener) {
        this.listener = listener;
    }

    /**
     * A tensor's {@code data} follows, from after its opening bracket.
     *
     * @param outerDepth the depth of the tensor's object in the document
     */
    public NumberScanner begin(WireLimits limits, int outerDepth) {
        maxLevels = limits.jsonDepth() - outerDepth;
        maxBytes = Math.min(limits.numberLength(), MAX_CHARACTERS);
        state = NumberGrammarTable.OPENING;
        level = 1;
        elements = 0;
        length = 0;
        pause = BytePlanes.BYTES;
        withoutStripes = 0;
        stripePause = 0;
        listener.open(1);
        return this;
    }

    /** The index after the last comma or bracket in the window; {@code from} if there is none. */
    static int lastSeparator(byte[] window, int from, int end) {
        for (int i = end; i > from; i--) {
            byte c = window[i - 1];
            if (c == ',' || c == ']' || c == '[') {
                return i;
            }
        }
        return from;
    }

    /** Skims the window; returns the index at which it stopped: the end, the closing bracket, or where it refused. */
    int read(byte[] window, int from, int end) {
        int at = from;
        int blocksFrom = maxBytes < NumberBlocks.MAX_DISTANCE ? end : from;
        while (at < end && !closed() && !refused()) {
            if (state == NumberGrammarTable.COMMA && at >= blocksFrom && at <= end - BytePlanes.BYTES) {
                at = blocks(window, at, end);
                blocksFrom = at + pause;
            }
            if (NumberGrammarTable.inRun(state)) {
                at = eights(window, at, Math.min(blocksFrom, end));
            }
            at = steps(window, at, at < blocksFrom ? Math.min(at + Long.BYTES, end) : afterComma(window, at, end));
        }
        return at;
    }

    private int stripes(NumberStripes stripes, byte[] window, int from, int end) {
        if (from > end - NumberStripes.BYTES || withoutStripes-- > 0) {
            return from;
        }
        int at = stripes.read(window, from, end);
        elements += stripes.commas();
        boolean useful = at - from >= NumberStripes.BYTES / 2;
        withoutStripes = useful ? 0 : stripePause;
        stripePause = useful ? 0 : Math.min(2 * stripePause + 1, MAX_STRIPE_PAUSE);
        return at;
    }

    private int blocks(byte[] window, int from, int end) {
        LongRuns runs = LongRuns.OF_THREAD.get();
        int at = runs.blocks.read(window, stripes(runs.stripes, window, from, end), end);
        elements += runs.blocks.commas();
        length = at > from ? 0 : length;
        pause = at - from >= pause ? BytePlanes.BYTES : Math.min(2 * pause, MAX_PAUSE);
        return at;
    }

    /** Saves the state, which must be between two numbers. */
    void mark() {
        markedState = state;
        markedLevel = level;
        markedElements = elements;
        listener.mark();
    }

    /** Restores the state saved by {@link #mark()} and reports the elements before it. */
    void reset() {
        state = markedState;
        level = markedLevel;
        elements = markedElements;
        listener.reset();
        report();
    }

    /** The level of the open array; the outermost is 1. */
    int level() {
        return level;
    }

    /** Whether the last byte opened an array. */
    boolean atArrayStart() {
        return state == NumberGrammarTable.OPENING;
    }

    /** Whether the last byte was a comma. */
    boolean afterComma() {
        return state == NumberGrammarTable.COMMA;
    }

    /** Whether the closing bracket was reached; it is not consumed. */
    public boolean closed() {
        return level == 0;
    }

    /** Whether the input is not arrays of numbers, or has a number that must be read. */
    public boolean refused() {
        return state == NumberGrammarTable.REFUSED;
    }

    /**
     * Skims numbers with nothing but commas between them, eight bytes at a time; returns the index of anything else, or
     * where fewer than eight bytes are left.
     */
    private int eights(byte[] window, int from, int end) {
        int shift = NumberGrammarTable.shift(state);
        int own = length;
        int longest = own;
        int commas = 0;
        int at = from;
        for (; at <= end - Long.BYTES; at += Long.BYTES) {
            long bytes = (long) ArrayView.LONGS.get(window, at);
            int after = NumberGrammarTable.afterEight(shift, bytes);
            if (after == 0) {
                break;
            }
            shift = after;
            // The highest bit of each byte that is a comma; all bytes are below 0x80.
            long comma = ~((bytes ^ COMMAS) + LOW) & ~LOW;
            commas += Long.bitCount(comma);
            own = comma == 0 ? own + Long.BYTES : Long.numberOfLeadingZeros(comma) >>> 3;
            longest = Math.max(longest, own);
        }
        int last = NumberGrammarTable.ofShift(shift);
        // A number begins after each comma, including one before these bytes; the number after the last comma may not
        // have started.
        elements += commas + (state == NumberGrammarTable.COMMA ? 1 : 0) - (last == NumberGrammarTable.COMMA ? 1 : 0);
        length = own;
        state = longest > maxBytes - Long.BYTES ? NumberGrammarTable.REFUSED : last;
        return at;
    }

    /** The index after the next comma, or near it. */
    private static int afterComma(byte[] window, int from, int end) {
        int until = Math.min(from + NumberBlocks.MAX_DISTANCE, end);
        for (int at = from; at < until; at++) {
            if (window[at] == ',') {
                return at + 1;
            }
        }
        return until;
    }

    private int steps(byte[] window, int from, int until) {
        for (int at = from; at < until; at++) {
            int next = NumberGrammarTable.next(state, window[at]);
            if (next == NumberGrammarTable.OPEN) {
                open();
            } else if (next == NumberGrammarTable.CLOSE) {
                close();
            } else {
                boolean number = NumberGrammarTable.isNumber(next);
                elements += number && !NumberGrammarTable.isNumber(state) ? 1 : 0;
                length = number ? length + 1 : 0;
                state = length > maxBytes ? NumberGrammarTable.REFUSED : next;
            }
            if (closed() || refused()) {
                return at;
            }
        }
        return until;
    }

    private void open() {
        if (level == maxLevels) {
            state = NumberGrammarTable.REFUSED;
            return;
        }
        report();
        listener.open(++level);
        state = NumberGrammarTable.OPENING;
    }

    private void close() {
        report();
        listener.close(level);
        level--;
        length = 0;
        state = NumberGrammarTable.CLOSED;
    }

    private void report() {
        if (elements > 0) {
            listener.elements(level, elements);
            elements = 0;
        }
    }
}

package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.ArrayView;

/**
 * Steps over arrays of numbers, eight bytes at a time, checks their grammar (RFC 8259, 6) and counts them, without reading
 * their values. It refuses what must be read to be judged: exponents that are not negative, and {@code -0}, whose sign some
 * servers lose.
 */
public final class NumberScanner {
    /** Numbers that are longer, or have exponents above zero, may be beyond the range of a float: they are read. */
    private static final int MOST_CHARACTERS = 38;

    private static final long LOW = 0x7f7f_7f7f_7f7f_7f7fL;
    private static final long COMMAS = 0x2c2c_2c2c_2c2c_2c2cL;

    private final ArrayListener listener;
    private final int mostLevels;
    private final int mostBytes;
    private int state = NumberGrammarTable.OPENING;
    private int level = 1;
    /** Elements of this array, since its last inner array, that {@link #listener} has not been told of. */
    private long elements;
    /** Bytes of the number that is under way; white space after a comma may count as its beginning. */
    private int length;

    private boolean closed;

    private int markedState;
    private int markedLevel;
    private long markedElements;

    /**
     * A skim of an array, from after its opening bracket.
     *
     * @param listener gets the arrays and the elements in them
     * @param mostLevels how deep arrays may be nested
     * @param mostBytes how many characters a number may have
     */
    NumberScanner(ArrayListener listener, int mostLevels, int mostBytes) {
        this.listener = listener;
        this.mostLevels = mostLevels;
        this.mostBytes = mostBytes;
        listener.open(1);
    }

    /**
     * A skim of a tensor's {@code data}, from after its opening bracket.
     *
     * @param listener gets the arrays and the elements in them
     * @param outerDepth of the tensor's object in the document
     */
    public static NumberScanner of(ArrayListener listener, WireLimits limits, int outerDepth) {
        int mostBytes = Math.min(limits.numberLength(), MOST_CHARACTERS);
        return new NumberScanner(listener, limits.jsonDepth() - outerDepth, mostBytes);
    }

    /** Steps over what there is; says where it stopped: at the end, at the closing bracket, or where it refused. */
    int read(byte[] window, int from, int end) {
        int at = from;
        while (at < end && !closed && !refused()) {
            if (NumberGrammarTable.inRun(state)) {
                at = eights(window, at, end);
            }
            at = steps(window, at, Math.min(at + Long.BYTES, end));
        }
        return at;
    }

    /** Remembers where it stands, which is between numbers. */
    void mark() {
        markedState = state;
        markedLevel = level;
        markedElements = elements;
        listener.mark();
    }

    /** Goes back to where {@link #mark()} was, and tells the listener all that came before. */
    void reset() {
        state = markedState;
        level = markedLevel;
        elements = markedElements;
        listener.reset();
        tell();
    }

    /** The level of the array that is open, outermost level 1. */
    int level() {
        return level;
    }

    /** Whether nothing has come of the array that is open. */
    boolean opening() {
        return state == NumberGrammarTable.OPENING;
    }

    /** Whether a comma came last. */
    boolean comma() {
        return state == NumberGrammarTable.COMMA;
    }

    /** Whether the closing bracket has come; it is not stepped over. */
    public boolean closed() {
        return closed;
    }

    /** Whether there is something else than arrays of numbers, or a number that must be read. */
    public boolean refused() {
        return state == NumberGrammarTable.REFUSED;
    }

    /**
     * Steps over numbers with nothing but commas between them, eight bytes at a time; says where something else comes, or fewer
     * than eight bytes are left.
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
        // A number begins after each comma, and after one that came before these bytes; the last may be still to come.
        elements += commas + (state == NumberGrammarTable.COMMA ? 1 : 0) - (last == NumberGrammarTable.COMMA ? 1 : 0);
        length = own;
        state = longest > mostBytes - Long.BYTES ? NumberGrammarTable.REFUSED : last;
        return at;
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
                state = length > mostBytes ? NumberGrammarTable.REFUSED : next;
            }
            if (closed || refused()) {
                return at;
            }
        }
        return until;
    }

    private void open() {
        if (level == mostLevels) {
            state = NumberGrammarTable.REFUSED;
            return;
        }
        tell();
        listener.open(++level);
        state = NumberGrammarTable.OPENING;
    }

    private void close() {
        tell();
        listener.close(level);
        closed = level == 1;
        level--;
        length = 0;
        state = NumberGrammarTable.CLOSED;
    }

    private void tell() {
        if (elements > 0) {
            listener.elements(level, elements);
            elements = 0;
        }
    }
}

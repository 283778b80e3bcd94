package dev.isthmus.transcoder.rest;

/**
 * What may follow what in arrays of JSON numbers (RFC 8259, 6): a state says what stands before the next byte, a table which
 * state is behind it.
 */
final class NumberStates {
    /** Something else, or a number that must be read. */
    static final int REFUSED = 0;

    static final int COMMA = 1;

    // Within a number.
    private static final int EXPONENT_MINUS = 2;
    private static final int MINUS = 3;
    /** A zero before the point. */
    private static final int ZERO = 4;
    /** The same, behind a minus: to some servers {@code -0} is an integer, and loses its sign. */
    private static final int MINUS_ZERO = 5;
    /** A digit before the point. */
    private static final int INTEGER = 6;

    private static final int POINT = 7;
    /** A digit behind the point. */
    private static final int FRACTION = 8;
    /** A digit of the exponent. */
    private static final int POWER = 9;
    /** The letter. Only a minus may follow: larger numbers must be read. */
    private static final int EXPONENT = 10;

    // Beside numbers.
    /** An opening bracket. */
    static final int OPENING = 11;
    /** A number, and a space. */
    private static final int ENDED = 12;
    /** A closing bracket. */
    static final int CLOSED = 13;

    // What comes next; no states to go on from.
    static final int OPEN = 14;
    static final int CLOSE = 15;

    private static final int STATES = 14;
    private static final int BITS = 6;
    private static final int OFFSET = (1 << BITS) - 1;

    private static final byte[] NEXT = new byte[STATES << 8];

    /**
     * For each byte the states behind it, six times their numbers, of all states up to {@link #EXPONENT}, each where six
     * times the number of the state before says: a shift to the right by that gives the next shift. Of the last there is room
     * for four bits only, which are enough for {@link #EXPONENT_MINUS}.
     */
    private static final long[] SHIFTS = new long[256];

    static {
        String digits = "0123456789";
        for (int state : new int[] {OPENING, COMMA}) {
            put(state, "-", MINUS);
            put(state, digits, INTEGER);
            put(state, "0", ZERO);
            put(state, "[", OPEN);
            put(state, " \n\r\t", state);
        }
        put(OPENING, "]", CLOSE);
        for (int state : new int[] {ENDED, CLOSED, ZERO, INTEGER, FRACTION, POWER}) {
            put(state, ",", COMMA);
            put(state, "]", CLOSE);
            put(state, " \n\r\t", state == CLOSED ? CLOSED : ENDED);
        }
        put(MINUS, digits, INTEGER);
        put(MINUS, "0", MINUS_ZERO);
        put(INTEGER, digits, INTEGER);
        put(POINT, digits, FRACTION);
        put(FRACTION, digits, FRACTION);
        for (int state : new int[] {ZERO, MINUS_ZERO, INTEGER}) {
            put(state, ".", POINT);
        }
        for (int state : new int[] {ZERO, MINUS_ZERO, INTEGER, FRACTION}) {
            put(state, "eE", EXPONENT);
        }
        put(EXPONENT, "-", EXPONENT_MINUS);
        put(EXPONENT_MINUS, digits, POWER);
        put(POWER, digits, POWER);
    }

    private NumberStates() {}

    private static void put(int state, String bytes, int next) {
        for (int i = 0; i < bytes.length(); i++) {
            int c = bytes.charAt(i);
            NEXT[state << 8 | c] = (byte) next;
            if (inRun(state)) {
                SHIFTS[c] &= ~((long) OFFSET << (BITS * state));
                SHIFTS[c] |= (inRun(next) ? (long) BITS * next : 0) << (BITS * state);
            }
        }
    }

    /** The state behind a byte, or {@link #OPEN} or {@link #CLOSE} where it is a bracket. */
    static int next(int state, byte c) {
        return NEXT[state << 8 | (c & 0xff)];
    }

    static boolean isNumber(int state) {
        return state > COMMA && state <= EXPONENT;
    }

    /** Whether {@link #behindEight} may go on from it. */
    static boolean inRun(int state) {
        return state >= COMMA && state <= EXPONENT;
    }

    /** What {@link #behindEight} takes for a state that {@link #inRun} says. */
    static int shift(int state) {
        return BITS * state;
    }

    /** The state that a result of {@link #behindEight} stands for. */
    static int ofShift(int shift) {
        return shift / BITS;
    }

    /**
     * What stands for the state behind eight bytes, the first of them the lowest; 0 where {@link #inRun} ends on the way.
     *
     * @param before what stands for the state before them
     */
    static int behindEight(int before, long bytes) {
        long shift = SHIFTS[(int) bytes & 0xff] >>> before;
        shift = SHIFTS[(int) (bytes >>> 8) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 16) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 24) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 32) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 40) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 48) & 0xff] >>> shift;
        shift = SHIFTS[(int) (bytes >>> 56)] >>> shift;
        return (int) (shift & OFFSET);
    }
}

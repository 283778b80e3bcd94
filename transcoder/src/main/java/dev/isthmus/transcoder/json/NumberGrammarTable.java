package dev.isthmus.transcoder.json;

/**
 * The grammar of arrays of JSON numbers (RFC 8259, 6) as a state machine: a state is the kind of the last byte, and
 * tables give the state after the next byte.
 */
final class NumberGrammarTable {
    /** Not an array of numbers, or a number that must be read to be validated. */
    static final int REFUSED = 0;

    static final int COMMA = 1;

    // Within a number, by its last byte.
    private static final int EXPONENT_MINUS = 2;
    private static final int MINUS = 3;
    /** A leading zero, which only a point or an exponent may follow. */
    private static final int ZERO = 4;
    /**
     * A leading zero after a minus. It may not end a number: some servers read {@code -0} as an integer and lose its
     * sign.
     */
    private static final int MINUS_ZERO = 5;
    /** Another digit before the point. */
    private static final int INTEGER = 6;

    private static final int POINT = 7;
    /** A digit after the point. */
    private static final int FRACTION = 8;
    /** A digit of the exponent. */
    private static final int POWER = 9;
    /** The letter e. Only a minus may follow: without it the number may be out of range and must be read. */
    private static final int EXPONENT = 10;

    // Between numbers.
    /** An opening bracket. */
    static final int OPENING = 11;
    /** White space after a number. */
    private static final int ENDED = 12;
    /** A closing bracket. */
    static final int CLOSED = 13;

    // Results of next() that are not states: a bracket, whose level the caller counts.
    static final int OPEN = 14;
    static final int CLOSE = 15;

    private static final int STATES = 14;
    private static final int BITS = 6;
    private static final int OFFSET = (1 << BITS) - 1;

    private static final byte[] NEXT = new byte[STATES << 8];

    /**
     * For each byte, the transitions of the states from {@link #COMMA} to {@link #EXPONENT}, packed into a long. A
     * state is stored as {@link #BITS} times its number, at the bit that the same product of the previous state names:
     * shifted right by the stored form of one state, the long has the stored form of the next in its lowest bits.
     * {@link #EXPONENT}, the last, has only four bits; they are enough for {@link #EXPONENT_MINUS}, the only state that
     * may follow it.
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

    private NumberGrammarTable() {}

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

    /** The state after a byte, or {@link #OPEN} or {@link #CLOSE} if it is a bracket. */
    static int next(int state, byte c) {
        return NEXT[state << 8 | (c & 0xff)];
    }

    static boolean isNumber(int state) {
        return state > COMMA && state <= EXPONENT;
    }

    /** Whether {@link #afterEight} accepts this state. */
    static boolean inRun(int state) {
        return state >= COMMA && state <= EXPONENT;
    }

    /** The form in which {@link #afterEight} expects a state; {@link #inRun} must be true. */
    static int shift(int state) {
        return BITS * state;
    }

    /** The state for a result of {@link #afterEight}. */
    static int ofShift(int shift) {
        return shift / BITS;
    }

    /**
     * The state after eight bytes, the first of them the lowest, in the form of {@link #shift}; 0 if a byte led to a
     * state that is not {@link #inRun}.
     *
     * @param before the state before them, in the same form
     */
    static int afterEight(int before, long bytes) {
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

package dev.isthmus.transcoder.rest;

/**
 * Steps over arrays of numbers, eight bytes at a time. It makes sure that between brackets and commas there is one word of
 * the characters of numbers each, and counts the words; not that they are numbers, nor what numbers. Exponents must be
 * negative.
 */
final class NumberSkim {
    private static final long EACH = 0x0101010101010101L;
    private static final long LOW = 0x7f * EACH;
    private static final long HIGH = ~LOW;
    private static final long COMMAS = ',' * EACH;
    private static final long SPACES = ' ' * EACH;
    private static final long ZEROS = '0' * EACH;
    // Added to a byte below 0x80, these set its highest bit: from '+' on, of "+,-.", and behind them.
    private static final long FROM_PLUS = (0x80 - '+') * EACH;
    private static final long BEHIND_POINT = (0x80 - '.' - 1) * EACH;
    /** Added to the value of a digit, it leaves the highest bit unset. */
    private static final long BEHIND_NINE = (0x80 - 10) * EACH;

    /** What stands before the next byte, spaces aside. */
    private enum Before {
        OPENING,
        COMMA,
        /** A number that may go on. */
        NUMBER,
        /** A number, and a space. */
        NUMBER_ENDED,
        CLOSING
    }

    private final Nesting nesting;
    private final int mostLevels;
    private final int mostBytes;
    private Before before = Before.OPENING;
    private int level = 1;
    /** Elements of this array, since its last inner array, that {@link #nesting} has not been told of. */
    private long elements;
    /** Bytes of the number before, at the most. */
    private int length;
    /** Whether an exponent has begun, whose sign is to come. */
    private boolean exponent;

    private boolean refused;
    private boolean closed;

    /**
     * A skim of an array, from behind its opening bracket.
     *
     * @param nesting gets the arrays and the elements in them
     * @param mostLevels arrays in each other
     * @param mostBytes characters of a number
     */
    NumberSkim(Nesting nesting, int mostLevels, int mostBytes) {
        this.nesting = nesting;
        this.mostLevels = mostLevels;
        this.mostBytes = mostBytes;
        nesting.open(1, false);
    }

    /** Steps over what there is; says where it stopped: at the end, at the closing bracket, or where it refused. */
    int read(byte[] window, int from, int end) {
        int at = from;
        while (at < end && !refused) {
            if (!exponent && (before == Before.COMMA || before == Before.NUMBER)) {
                at = words(window, at, end);
            }
            for (int until = Math.min(at + Long.BYTES, end); at < until; at++) {
                step(window[at]);
                if (closed || refused) {
                    return at;
                }
            }
        }
        return at;
    }

    /** Whether the closing bracket has come; it is not stepped over. */
    boolean closed() {
        return closed;
    }

    /** Whether there is something else than arrays of numbers, or a number of too many characters. */
    boolean refused() {
        return refused;
    }

    /**
     * Steps over numbers without exponents, with single commas right behind them and spaces behind these; says where there is
     * something else, or fewer than eight bytes.
     */
    private int words(byte[] window, int from, int end) {
        long numberBefore = before == Before.NUMBER ? 0x80 : 0;
        long begun = 0;
        int bytes = length;
        int longest = length;
        int at = from;
        for (; at <= end - Long.BYTES; at += Long.BYTES) {
            long word = (long) ArrayView.LONGS.get(window, at);
            // The highest bit of each byte says what the byte is. A sum overflows only where the byte is refused.
            long notComma = (word ^ COMMAS) + LOW;
            long number = notComma & ((word ^ SPACES) + LOW) & HIGH;
            long behindNumber = number << 8 | numberBefore;
            long misplaced = ~(behindNumber ^ notComma) & ~number;
            long notDigit = (word ^ ZEROS) + BEHIND_NINE;
            long mark = (word + FROM_PLUS) & ~(word + BEHIND_POINT);
            if (((word | misplaced | (number & notDigit & ~mark)) & HIGH) != 0) {
                break;
            }
            begun += Long.bitCount(number & ~behindNumber);
            numberBefore = number >>> 56;
            bytes = number == HIGH ? bytes + Long.BYTES : Long.BYTES - 1;
            longest = Math.max(longest, bytes);
        }
        elements += begun;
        before = numberBefore == 0 ? Before.COMMA : Before.NUMBER;
        length = bytes;
        refused = longest > mostBytes - Long.BYTES;
        return at;
    }

    private void step(byte c) {
        refused |= exponent && c != '-';
        exponent = c == 'e' || c == 'E';
        switch (c) {
            case '[' -> open();
            case ']' -> close();
            case ',' -> {
                refused |= before == Before.OPENING || before == Before.COMMA;
                before = Before.COMMA;
                length = 0;
            }
            case ' ', '\n', '\r', '\t' -> before = before == Before.NUMBER ? Before.NUMBER_ENDED : before;
            default -> number(c);
        }
    }

    private void open() {
        refused |= (before != Before.OPENING && before != Before.COMMA) || level == mostLevels;
        if (!refused) {
            tell();
            nesting.open(++level, false);
            before = Before.OPENING;
        }
    }

    private void close() {
        refused |= before == Before.COMMA;
        if (!refused) {
            tell();
            nesting.close(level);
            closed = level == 1;
            level--;
            before = Before.CLOSING;
        }
    }

    private void tell() {
        if (elements > 0) {
            nesting.elements(level, elements);
            elements = 0;
        }
    }

    private void number(byte c) {
        boolean begins = before == Before.OPENING || before == Before.COMMA;
        length = begins ? 1 : length + 1;
        elements += begins ? 1 : 0;
        refused |= (!begins && before != Before.NUMBER) || !JsonNumberGrammar.isPart(c) || length > mostBytes;
        before = Before.NUMBER;
    }
}

package dev.isthmus.transcoder.json;

/**
 * Skims numbers without exponents, separated by commas that spaces may follow, 64 bytes at a time. Stops where it finds
 * anything else, and {@link NumberScanner} decides.
 */
final class NumberBlocks {
    /** A distance of two commas from which on it stops. Numbers that it accepts are shorter. */
    static final int MAX_DISTANCE = 32;

    private static final long QUARTERS = 0x0001_0001_0001_0001L;

    private final BytePlanes bytes = new BytePlanes();
    private long commas;

    // What the byte before the block is: 1 or 0.
    private long separatorBefore;
    private long digitBefore;
    private long minusBefore;
    /** The first digit of a number. */
    private long zeroBefore;

    private long minusZeroBefore;
    /** Whether there is a point after the last comma before the block. */
    private long pointBefore;

    /** The commas that the last call of {@link #read} skipped. */
    long commas() {
        return commas;
    }

    /**
     * Skims numbers; returns the index after the last comma that it skipped, {@code from} if there is none.
     *
     * @param from the index after a comma
     */
    int read(byte[] window, int from, int end) {
        separatorBefore = 1;
        digitBefore = 0;
        minusBefore = 0;
        zeroBefore = 0;
        minusZeroBefore = 0;
        pointBefore = 0;
        long before = 1L << 63;
        long count = 0;
        int at = from;
        for (; at <= end - BytePlanes.BYTES; at += BytePlanes.BYTES) {
            bytes.read(window, at);
            long wrong = bytes.foreign | bytes.invalid | misplaced();
            long block = BytePlanes.inOrder(bytes.comma);
            if ((wrong | secondPoints(block, BytePlanes.inOrder(bytes.point))) != 0 || tooFar(before, block)) {
                break;
            }
            before = block;
            count += Long.bitCount(block);
        }
        commas = count;
        return at - Long.numberOfLeadingZeros(before);
    }

    /** Bytes that may not follow the one before them. */
    private long misplaced() {
        long zero = bytes.zero;
        long separator = bytes.comma | bytes.space;
        long afterSeparator = BytePlanes.after(separator, separatorBefore);
        long afterDigit = BytePlanes.after(bytes.digit, digitBefore);
        long afterMinus = BytePlanes.after(bytes.minus, minusBefore);
        long leadingZero = zero & (afterSeparator | afterMinus);
        long afterLeadingZero = BytePlanes.after(leadingZero, zeroBefore);
        long wrong = ((bytes.minus | bytes.space) & ~afterSeparator)
                | ((bytes.comma | bytes.point) & ~afterDigit)
                | (bytes.digit & afterLeadingZero);
        // A number that is only a zero, which must not have a minus.
        if ((bytes.comma & afterLeadingZero) != 0) {
            wrong |= bytes.comma & BytePlanes.after(zero & afterMinus, minusZeroBefore);
        }
        separatorBefore = BytePlanes.last(separator);
        digitBefore = BytePlanes.last(bytes.digit);
        minusBefore = BytePlanes.last(bytes.minus);
        zeroBefore = BytePlanes.last(leadingZero);
        minusZeroBefore = BytePlanes.last(zero & afterMinus);
        return wrong;
    }

    /** Points between which there is no comma. The arguments are in the order of the bytes. */
    private long secondPoints(long commas, long points) {
        long after = (points << 1) | pointBefore;
        pointBefore = Long.compareUnsigned(points, commas) > 0 ? 1 : 0;
        // The sum carries from each point over all bytes up to the next comma or point, whose bit it sets.
        return (~(commas | points) + after) & points;
    }

    /**
     * Whether two commas are {@link #MAX_DISTANCE} apart, or more.
     *
     * @param before the commas of the block before
     */
    private static boolean tooFar(long before, long commas) {
        if (Long.numberOfLeadingZeros(before) + Long.numberOfTrailingZeros(commas) >= MAX_DISTANCE) {
            return true;
        }
        // A comma in each quarter.
        if (((commas - QUARTERS) & ~commas & (QUARTERS << 15)) == 0) {
            return false;
        }
        long none = ~commas;
        none &= none >>> 1;
        none &= none >>> 2;
        none &= none >>> 4;
        none &= none >>> 8;
        none &= none >>> 16;
        return none != 0;
    }
}

package dev.isthmus.transcoder.number;

/**
 * Reads an unsigned JSON number of at most 18 digits, eight bytes at a time. One instance reads one number at a time.
 * Accesses at most 80 bytes; those after the number may have any value.
 */
final class PlainNumber {
    private static final int NOT_PLAIN = -1;
    private static final int MAX_ZEROS = 16;
    private static final long[] TENS = new long[17];

    static {
        TENS[0] = 1;
        for (int i = 1; i < TENS.length; i++) {
            TENS[i] = 10 * TENS[i - 1];
        }
    }

    private long significand;
    private int exponent;

    /** The digits as an integer. */
    long significand() {
        return significand;
    }

    /** The nearest float; NaN if it cannot be decided here. */
    float toFloat() {
        return DecimalConversion.toFloat(significand, exponent);
    }

    /** The nearest double; NaN if it cannot be decided here. */
    double toDouble() {
        return DecimalConversion.toDouble(significand, exponent);
    }

    /** Reads a number; returns the index after it, or -1 if there is none or it is not plain. */
    int read(byte[] window, int start) {
        int at;
        if (window[start + 1] == '.') {
            significand = (long) window[start] - '0';
            at = significand >= 0 && significand <= 9 ? start + 1 : NOT_PLAIN;
        } else {
            at = readInteger(window, start);
        }
        if (at < 0) {
            return NOT_PLAIN;
        }
        exponent = 0;
        if (window[at] == '.') {
            int begin = at + 1;
            at = fraction(window, begin, significand == 0 ? 0 : at - start);
            exponent = begin - at;
        }
        return at >= 0 && (window[at] | 0x20) == 'e' ? power(window, at + 1) : at;
    }

    /**
     * Reads an integer without leading zeros; returns the index after it, or -1 if there is none or it is not plain.
     */
    int readInteger(byte[] window, int start) {
        long eight = EightDigits.read(window, start);
        int digits = EightDigits.count(eight);
        if (digits == 0 || (digits > 1 && (eight & 0xff) == 0)) {
            return NOT_PLAIN;
        }
        if (digits < 8) {
            significand = EightDigits.value(eight, digits);
            return start + digits;
        }
        long second = EightDigits.read(window, start + 8);
        int further = EightDigits.count(second);
        significand = EightDigits.value(eight) * TENS[further] + EightDigits.value(second, further);
        return further < 8 ? start + 8 + further : more(window, start + 16, DecimalConversion.MAX_DIGITS - 16);
    }

    /** Reads the digits after the point. */
    private int fraction(byte[] window, int start, int before) {
        long first = EightDigits.read(window, start);
        int digits = EightDigits.count(first);
        if (digits < 8) {
            significand = significand * TENS[digits] + EightDigits.value(first, digits);
            return digits > 0 && before + digits <= DecimalConversion.MAX_DIGITS ? start + digits : NOT_PLAIN;
        }
        // Both at once, whatever the length of the second: a branch per length would be mispredicted too often.
        long second = EightDigits.read(window, start + 8);
        int further = EightDigits.count(second);
        if (before + 8 + further > DecimalConversion.MAX_DIGITS) {
            return withoutZeros(window, start, before);
        }
        significand =
                (significand * TENS[8] + EightDigits.value(first)) * TENS[further] + EightDigits.value(second, further);
        if (further < 8) {
            return start + 8 + further;
        }
        int end = more(window, start + 16, DecimalConversion.MAX_DIGITS - 16 - before);
        return end < 0 ? withoutZeros(window, start, before) : end;
    }

    /** Reads the digits after the point if only leading zeros make them too many. */
    private int withoutZeros(byte[] window, int start, int before) {
        if (before > 0) {
            return NOT_PLAIN;
        }
        int at = start;
        while (window[at] == '0' && at - start < MAX_ZEROS) {
            at++;
        }
        significand = 0;
        return more(window, at, DecimalConversion.MAX_DIGITS);
    }

    /** Reads more digits, eight at a time. */
    private int more(byte[] window, int start, int max) {
        int at = start;
        int left = max;
        int digits;
        do {
            long eight = EightDigits.read(window, at);
            digits = EightDigits.count(eight);
            left -= digits;
            if (left < 0) {
                return NOT_PLAIN;
            }
            significand = significand * TENS[digits] + EightDigits.value(eight, digits);
            at += digits;
        } while (digits == 8);
        return at;
    }

    private int power(byte[] window, int start) {
        int at = start;
        boolean minus = window[at] == '-';
        if (minus || window[at] == '+') {
            at++;
        }
        long eight = EightDigits.read(window, at);
        int digits = EightDigits.count(eight);
        if (digits == 0 || digits > 4) {
            return NOT_PLAIN;
        }
        int power = (int) EightDigits.value(eight, digits);
        exponent += minus ? -power : power;
        return at + digits;
    }
}

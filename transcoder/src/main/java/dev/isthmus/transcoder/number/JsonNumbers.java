package dev.isthmus.transcoder.number;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;

/**
 * Converts JSON number tokens to values; does not allocate on the common paths. Callers have checked the token's
 * grammar. One instance reads one token at a time.
 */
public final class JsonNumbers {
    private static final byte[] NONE = {};
    /** Enough digits to place any number relative to two doubles and their midpoint; fewer than 770 suffice. */
    private static final int SIGNIFICANT_DIGITS = 800;

    /** Larger exponents are clamped to this one: no number has enough digits to bring the value back into range. */
    private static final int LARGEST_EXPONENT = 100_000_000;

    /** The maximum characters of a number in a message. */
    private static final int SHOWN = 64;

    private byte[] bytes = NONE;
    private int from;
    private int to;
    private boolean negative;
    private boolean exact;
    private long significand;
    private int exponent;

    /** Reads a token: {@code [-]digits[.digits][e[+-]digits]}. */
    public void read(byte[] window, int start, int end) {
        bytes = window;
        from = start;
        to = end;
        int i = start;
        negative = window[i] == '-';
        if (negative) {
            i++;
        }
        long value = 0;
        int digits = 0;
        int scale = 0;
        boolean point = false;
        exact = true;
        for (; i < end; i++) {
            byte c = window[i];
            if (c == '.') {
                point = true;
                continue;
            }
            if (c < '0') {
                break;
            }
            if (c > '9') {
                break;
            }
            if (digits < DecimalConversion.MAX_DIGITS) {
                value = value * 10 + (c - '0');
                digits += value == 0 ? 0 : 1;
                scale -= point ? 1 : 0;
            } else {
                exact &= c == '0';
                scale += point ? 0 : 1;
            }
        }
        significand = value;
        exponent = scale + (i < end ? exponent(i + 1, end) : 0);
    }

    private int exponent(int start, int end) {
        int i = start;
        boolean minus = bytes[i] == '-';
        if (minus || bytes[i] == '+') {
            i++;
        }
        int value = 0;
        for (; i < end; i++) {
            value = Math.min(value * 10 + (bytes[i] - '0'), LARGEST_EXPONENT);
        }
        return minus ? -value : value;
    }

    /** Whether it has a decimal point or an exponent. */
    public boolean hasFraction() {
        for (int i = from; i < to; i++) {
            if (bytes[i] == '.' || bytes[i] == 'e' || bytes[i] == 'E') {
                return true;
            }
        }
        return false;
    }

    private String token() {
        return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
    }

    /** The number's text for messages, truncated if it is long. */
    public String shown() {
        return shown(bytes, from, to);
    }

    /** A number's text for messages, truncated if it is long. */
    public static String shown(byte[] window, int from, int to) {
        String text = new String(window, from, Math.min(to - from, SHOWN), StandardCharsets.ISO_8859_1);
        return to - from > SHOWN ? text + "\u2026" : text;
    }

    /** The nearest double. */
    public double toDouble() {
        double magnitude = DecimalConversion.toDouble(significand, exponent);
        if (!exact && magnitude != DecimalConversion.toDouble(significand + 1, exponent)) {
            magnitude = Double.NaN;
        }
        if (Double.isNaN(magnitude)) {
            return Double.parseDouble(shortened());
        }
        return negative ? -magnitude : magnitude;
    }

    /** The nearest float. */
    public float toFloat() {
        float magnitude = DecimalConversion.toFloat(significand, exponent);
        if (!exact && magnitude != DecimalConversion.toFloat(significand + 1, exponent)) {
            magnitude = Float.NaN;
        }
        if (Float.isNaN(magnitude)) {
            return Float.parseFloat(shortened());
        }
        return negative ? -magnitude : magnitude;
    }

    /**
     * The value, or one that compares like it with every number of {@link #SIGNIFICANT_DIGITS} digits. Only for tokens
     * that are not {@link #extreme}.
     */
    public BigDecimal toDecimal() {
        return new BigDecimal(shortened());
    }

    /** The number with its first significant digits, and one more digit if any digit left out is not zero. */
    private String shortened() {
        if (to - from <= SIGNIFICANT_DIGITS) {
            return token();
        }
        StringBuilder text = new StringBuilder(SIGNIFICANT_DIGITS + 16);
        int scale = 0;
        int digits = 0;
        boolean point = false;
        boolean more = false;
        int i = from + (negative ? 1 : 0);
        for (; i < to && (bytes[i] | 0x20) != 'e'; i++) {
            byte c = bytes[i];
            if (c == '.') {
                point = true;
            } else if (digits < SIGNIFICANT_DIGITS) {
                scale -= point ? 1 : 0;
                if (c != '0' || digits > 0) {
                    text.append((char) c);
                    digits++;
                }
            } else {
                more |= c != '0';
                scale += point ? 0 : 1;
            }
        }
        int power = scale + (i < to ? exponent(i + 1, to) : 0);
        return (negative ? "-0" : "0") + text + (more ? ".1" : "") + 'e' + power;
    }

    /** Whether the magnitude is outside the range of every datatype; such a number must not be expanded. */
    boolean extreme() {
        return Math.abs((long) exponent) > 400;
    }

    /**
     * Whether the token is an integer in range; {@link #integer()} then returns it. Integers may have a fraction of
     * zeros or an exponent.
     */
    public boolean isInteger(boolean signed, int bits) {
        if (exact && exponent == 0) {
            // Up to 18 digits: no overflow.
            integer = negative ? -significand : significand;
            return signed
                    ? bits == 64 || (integer >= -(1L << (bits - 1)) && integer < 1L << (bits - 1))
                    : integer >= 0 && (bits == 64 || integer < 1L << bits);
        }
        if (extreme()) {
            integer = 0;
            return exact && significand == 0;
        }
        try {
            java.math.BigInteger value = toDecimal().toBigIntegerExact();
            integer = value.longValue();
            return signed ? value.bitLength() < bits : value.signum() >= 0 && value.bitLength() <= bits;
        } catch (ArithmeticException fraction) {
            return false;
        }
    }

    private long integer;

    /** The integer found by {@link #isInteger}; unsigned if that was requested. */
    public long integer() {
        return integer;
    }
}

package dev.isthmus.gateway.call;

import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/** Identifiers of lower-case hexadecimal digits: of requests, traces and spans. */
public final class HexIds {
    private static final int LONG_DIGITS = 16;
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private HexIds() {}

    /** 128 random bits, not all of them 0: 32 digits. */
    public static AsciiString random128() {
        byte[] digits = new byte[2 * LONG_DIGITS];
        write(digits, 0, nonZero());
        write(digits, LONG_DIGITS, ThreadLocalRandom.current().nextLong());
        return new AsciiString(digits, false);
    }

    /** 64 random bits, not all of them 0: 16 digits. */
    public static String random64() {
        byte[] digits = new byte[LONG_DIGITS];
        write(digits, 0, nonZero());
        return new String(digits, StandardCharsets.US_ASCII);
    }

    private static long nonZero() {
        long bits;
        do {
            bits = ThreadLocalRandom.current().nextLong();
        } while (bits == 0);
        return bits;
    }

    private static void write(byte[] digits, int at, long bits) {
        for (int i = 0; i < LONG_DIGITS; i++) {
            digits[at + i] = DIGITS[(int) (bits >>> (60 - 4 * i)) & 15];
        }
    }

    /** Whether this part of a text consists of lower-case hexadecimal digits, not all of them 0. */
    static boolean valid(String text, int from, int to) {
        boolean zero = true;
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if (digit(c) < 0) {
                return false;
            }
            zero &= c == '0';
        }
        return !zero;
    }

    /** The value of two digits; negative if they are none. */
    static int octet(String text, int at) {
        int high = digit(text.charAt(at));
        int low = digit(text.charAt(at + 1));
        return high < 0 || low < 0 ? -1 : high << 4 | low;
    }

    private static int digit(char c) {
        if (c >= '0' && c <= '9') {
            return c - '0';
        }
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    }
}

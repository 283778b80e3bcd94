package dev.isthmus.gateway.grpc;

import dev.isthmus.oip.OipException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The header {@code grpc-timeout}: up to eight digits and a unit (gRPC over HTTP/2, Timeout). */
public final class GrpcTimeout {
    /** The deadline of a call without one. */
    public static final long NO_DEADLINE = Long.MAX_VALUE;

    /** Values are below this: at most eight digits. */
    private static final long LIMIT = 100_000_000;

    private static final TimeUnit[] UNITS = {
        TimeUnit.NANOSECONDS,
        TimeUnit.MICROSECONDS,
        TimeUnit.MILLISECONDS,
        TimeUnit.SECONDS,
        TimeUnit.MINUTES,
        TimeUnit.HOURS
    };
    private static final String LETTERS = "numSMH";

    private GrpcTimeout() {}

    /**
     * The deadline on the scale of {@link System#nanoTime()}.
     *
     * @throws OipException INVALID_ARGUMENT for a malformed value
     */
    public static long deadline(@Nullable CharSequence value, long nowNanos) {
        if (value == null) {
            return NO_DEADLINE;
        }
        String text = value.toString();
        int digits = text.length() - 1;
        int unit = digits < 1 || digits > 8 ? -1 : LETTERS.indexOf(text.charAt(digits));
        if (unit < 0) {
            throw malformed(text);
        }
        long count = 0;
        for (int i = 0; i < digits; i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                throw malformed(text);
            }
            count = count * 10 + digit;
        }
        // Capped at a century, so that the sum does not overflow.
        long nanos = Math.min(UNITS[unit].toNanos(count), TimeUnit.DAYS.toNanos(36_500));
        return nowNanos + nanos;
    }

    /** The header's value in the finest unit that fits eight digits, rounded down; 0 for a negative timeout. */
    public static String value(long nanos) {
        long positive = Math.max(nanos, 0);
        for (int i = 0; i < UNITS.length - 1; i++) {
            long count = UNITS[i].convert(positive, TimeUnit.NANOSECONDS);
            if (count < LIMIT) {
                return count + LETTERS.substring(i, i + 1);
            }
        }
        return TimeUnit.NANOSECONDS.toHours(positive) + "H";
    }

    private static OipException malformed(String text) {
        return OipException.invalid(
                "header grpc-timeout: 1 to 8 digits and one of H M S m u n are expected, got '" + text + "'");
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.OipException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The header {@code grpc-timeout}: up to eight digits and a unit (gRPC over HTTP/2, Timeout). */
final class GrpcTimeout {
    private GrpcTimeout() {}

    /**
     * The deadline on the scale of {@link System#nanoTime()}.
     *
     * @throws OipException INVALID_ARGUMENT for a malformed value
     */
    static long deadline(@Nullable CharSequence value, long nowNanos) {
        if (value == null) {
            return Call.NO_DEADLINE;
        }
        String text = value.toString();
        int digits = text.length() - 1;
        if (digits < 1 || digits > 8 || !text.chars().limit(digits).allMatch(c -> c >= '0' && c <= '9')) {
            throw malformed(text);
        }
        TimeUnit unit = switch (text.charAt(digits)) {
            case 'H' -> TimeUnit.HOURS;
            case 'M' -> TimeUnit.MINUTES;
            case 'S' -> TimeUnit.SECONDS;
            case 'm' -> TimeUnit.MILLISECONDS;
            case 'u' -> TimeUnit.MICROSECONDS;
            case 'n' -> TimeUnit.NANOSECONDS;
            default -> throw malformed(text);
        };
        // More than a century is no deadline; the sum must not wrap round.
        long nanos = Math.min(unit.toNanos(Long.parseLong(text.substring(0, digits))), TimeUnit.DAYS.toNanos(36_500));
        return nowNanos + nanos;
    }

    private static OipException malformed(String text) {
        return OipException.invalid(
                "header grpc-timeout: 1 to 8 digits and one of H M S m u n are expected, got '" + text + "'");
    }
}

package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.OipException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeFormatter;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How long a server asks clients to wait before the next request. */
public final class ServerDelay {
    /**
     * Of REST responses and gRPC trailers: seconds, or a date in the form that RFC 9110 tells servers to send
     * (sections 10.2.3 and 5.6.7). The two obsolete forms are not read.
     */
    public static final String RETRY_AFTER = "retry-after";
    /** Of gRPC trailers, in milliseconds (gRFC A6). */
    public static final String PUSHBACK = "grpc-retry-pushback-ms";

    /** Nine digits of seconds are 31 years. */
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    private static final Duration LONGEST = Duration.ofSeconds(999_999_999);
    /** As in Sun, 06 Nov 1994 08:49:37 GMT. */
    private static final Pattern DATE =
            Pattern.compile("[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT");

    private ServerDelay() {}

    /**
     * A failure with the time that its response asks for. A date counts from the gateway's time; one that has passed
     * asks for none.
     *
     * @param retryAfter null if the response has none
     * @param pushback null if the response has none
     */
    public static OipException of(
            OipException failure, @Nullable CharSequence retryAfter, @Nullable CharSequence pushback) {
        if (pushback != null && NUMBER.matcher(pushback).matches()) {
            return failure.withServerDelay(Duration.ofMillis(Long.parseLong(pushback.toString())));
        }
        Duration delay = retryAfter == null ? null : delay(retryAfter.toString(), InstantSource.system());
        return delay == null ? failure : failure.withServerDelay(delay);
    }

    /**
     * What {@code Retry-After} asks for, at most 31 years; null if it is neither a number nor a date.
     *
     * @param clock tells the time from which a date counts
     */
    static @Nullable Duration delay(String retryAfter, InstantSource clock) {
        if (NUMBER.matcher(retryAfter).matches()) {
            return Duration.ofSeconds(Long.parseLong(retryAfter));
        }
        if (!DATE.matcher(retryAfter).matches()) {
            return null;
        }
        try {
            Instant date = DateTimeFormatter.RFC_1123_DATE_TIME.parse(retryAfter, Instant::from);
            Duration delay = Duration.between(clock.instant(), date);
            return delay.isNegative() ? Duration.ZERO : delay.compareTo(LONGEST) > 0 ? LONGEST : delay;
        } catch (DateTimeException noSuchDate) {
            return null;
        }
    }
}

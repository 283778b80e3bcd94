package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How long a server asks clients to wait before the next request. */
public final class ServerDelay {
    /** Of REST responses and gRPC trailers, in seconds (RFC 9110, section 10.2.3); dates are not read. */
    public static final String RETRY_AFTER = "retry-after";
    /** Of gRPC trailers, in milliseconds (gRFC A6). */
    public static final String PUSHBACK = "grpc-retry-pushback-ms";

    /** Nine digits of seconds are 31 years. */
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,9}");

    private ServerDelay() {}

    /**
     * A failure with the time that its response asks for.
     *
     * @param retryAfter null if the response has none
     * @param pushback null if the response has none
     */
    public static OipException of(
            OipException failure, @Nullable CharSequence retryAfter, @Nullable CharSequence pushback) {
        if (pushback != null && NUMBER.matcher(pushback).matches()) {
            return failure.withServerDelay(Duration.ofMillis(Long.parseLong(pushback.toString())));
        }
        return retryAfter != null && NUMBER.matcher(retryAfter).matches()
                ? failure.withServerDelay(Duration.ofSeconds(Long.parseLong(retryAfter.toString())))
                : failure;
    }
}

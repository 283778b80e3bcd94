package dev.isthmus.gateway.limit;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One limit, for all calls together, for each value of a header or for each caller. Values that have not been seen for a while are
 * evicted.
 */
final class RateLimit implements AutoCloseable {
    static final int MAX_KEYS = 100_000;
    private static final Duration IDLE = Duration.ofMinutes(10);
    /** The key of all calls if the limit names no header, and of calls without the header if it does. */
    private static final String NO_KEY = "";
    /** Longer values are stored as their digest, to keep keys small. */
    private static final int MAX_KEY_LENGTH = 64;

    private final String model;
    private final ModelConfig.Rate rate;
    private final LongSupplier nanoTime;
    private final LoadingCache<String, ValueUsage> usages;
    private final Counter refusedRequests;
    private final Counter refusedBodies;
    private final ReplaceableMeters meters;

    RateLimit(String model, ModelConfig.Rate rate, LongSupplier nanoTime, MeterRegistry meters) {
        this.model = model;
        this.rate = rate;
        this.nanoTime = nanoTime;
        this.meters = new ReplaceableMeters(meters);
        this.usages = Caffeine.newBuilder()
                .maximumSize(MAX_KEYS)
                .expireAfterAccess(rate.burst().compareTo(IDLE) > 0 ? rate.burst() : IDLE)
                .ticker(nanoTime::getAsLong)
                // Keeps eviction off the common pool.
                .executor(Runnable::run)
                .build(key -> new ValueUsage());
        this.refusedRequests = counter("requests");
        this.refusedBodies = counter("bytes");
    }

    private Counter counter(String kind) {
        return meters.add(Counter.builder("isthmus.rate.limited")
                .description("Calls refused because of the route's rates; header is principal for a limit by caller")
                .tags(
                        "model",
                        model,
                        "limit",
                        kind,
                        "header",
                        rate.principal() ? "principal" : Objects.requireNonNullElse(rate.header(), "none"))::register);
    }

    /** The usage that a call is counted on. */
    ValueUsage usage(Function<String, @Nullable String> headers, String principal) {
        String header = rate.header();
        String value =
                rate.principal() ? principal : header == null ? null : headers.apply(header.toLowerCase(Locale.ROOT));
        ValueUsage usage = usages.get(value == null ? NO_KEY : key(value));
        return usage == null ? new ValueUsage() : usage;
    }

    private static String key(String value) {
        if (value.length() <= MAX_KEY_LENGTH) {
            return value;
        }
        try {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private OipException refused(String limit, String what, long nanos) {
        String scope = rate.principal()
                ? " for each caller"
                : rate.header() == null ? "" : " for each value of header '" + rate.header() + "'";
        Duration wait = Duration.ofNanos(nanos);
        long seconds = Math.max(1, wait.plusMillis(999).toSeconds());
        return OipException.refused(
                ErrorCode.RESOURCE_EXHAUSTED,
                "rate limit of model '" + model + "' reached (" + limit + " per second" + scope + "): " + what
                        + " is admitted in " + seconds + " s",
                wait);
    }

    @Override
    public void close() {
        meters.close();
    }

    /** The usage of one value of the header. */
    final class ValueUsage {
        private final @Nullable RateBucket requests;
        private final @Nullable RateBucket bytes;

        private ValueUsage() {
            long burst = rate.burst().toNanos();
            long now = nanoTime.getAsLong();
            Integer bytesPerSecond = rate.bytesPerSecond();
            this.requests = rate.requestsPerSecond() == 0 ? null : new RateBucket(rate.requestsPerSecond(), burst, now);
            this.bytes = bytesPerSecond == null ? null : new RateBucket(bytesPerSecond, burst, now);
        }

        void chargeRequest() {
            long wait = requests == null ? 0 : requests.take(1, nanoTime.getAsLong());
            if (wait > 0) {
                refusedRequests.increment();
                throw refused(rate.requestsPerSecond() + " requests", "the next request", wait);
            }
        }

        void refundRequest() {
            if (requests != null) {
                requests.refund(1);
            }
        }

        void chargeBody(long size) {
            long wait = bytes == null ? 0 : bytes.take(size, nanoTime.getAsLong());
            if (wait > 0) {
                refusedBodies.increment();
                throw refused(rate.bytesPerSecond() + " bytes", "a body of " + size + " bytes", wait);
            }
        }

        void refundBody(long size) {
            if (bytes != null) {
                bytes.refund(size);
            }
        }
    }
}

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
    private final RateCounters counters;
    private final LoadingCache<String, ValueUsage> usages;
    private final Counter refusedRequests;
    private final Counter refusedBodies;
    private final ReplaceableMeters meters;

    RateLimit(String model, ModelConfig.Rate rate, RateCounters counters, LongSupplier nanoTime, MeterRegistry meters) {
        this.model = model;
        this.rate = rate;
        this.counters = counters;
        this.meters = new ReplaceableMeters(meters);
        this.usages = Caffeine.newBuilder()
                .maximumSize(MAX_KEYS)
                .expireAfterAccess(rate.burst().compareTo(IDLE) > 0 ? rate.burst() : IDLE)
                .ticker(nanoTime::getAsLong)
                // Keeps eviction off the common pool.
                .executor(Runnable::run)
                .build(ValueUsage::new);
        this.refusedRequests = counter("requests");
        this.refusedBodies = counter("bytes");
    }

    private Counter counter(String kind) {
        return meters.add(Counter.builder("isthmus.rate.limited")
                .description("Calls refused because of the route's rates; header is principal for a limit by caller")
                .tags("model", model, "limit", kind, "header", scope())::register);
    }

    private String scope() {
        return rate.principal() ? "principal" : Objects.requireNonNullElse(rate.header(), "none");
    }

    /** The usage that a call is counted on. */
    ValueUsage usage(Function<String, @Nullable String> headers, String principal) {
        String header = rate.header();
        String value =
                rate.principal() ? principal : header == null ? null : headers.apply(header.toLowerCase(Locale.ROOT));
        String key = value == null ? NO_KEY : key(value);
        ValueUsage usage = usages.get(key);
        return usage == null ? new ValueUsage(key) : usage;
    }

    private static String key(String value) {
        return value.length() <= MAX_KEY_LENGTH ? value : digest(value);
    }

    private static String digest(String value) {
        try {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private OipException exceeded(String limit, String what, long nanos) {
        String each = rate.principal()
                ? " for each caller"
                : rate.header() == null ? "" : " for each value of header '" + rate.header() + "'";
        Duration wait = Duration.ofNanos(nanos);
        long seconds = Math.max(1, wait.plusMillis(999).toSeconds());
        return OipException.refused(
                ErrorCode.RESOURCE_EXHAUSTED,
                "rate limit of model '" + model + "' reached (" + limit + " per second" + each + "): " + what
                        + " is admitted in " + seconds + " s",
                wait);
    }

    @Override
    public void close() {
        meters.close();
    }

    /** The usage of one value of the header. */
    final class ValueUsage {
        private final @Nullable CountedUnit requests;
        private final @Nullable CountedUnit bytes;

        private ValueUsage(String key) {
            String value = key.isEmpty() ? "" : digest(key);
            Integer bytesPerSecond = rate.bytesPerSecond();
            this.requests = rate.requestsPerSecond() == 0
                    ? null
                    : new CountedUnit("requests", rate.requestsPerSecond(), value, refusedRequests);
            this.bytes = bytesPerSecond == null ? null : new CountedUnit("bytes", bytesPerSecond, value, refusedBodies);
        }

        /** Null if requests are not limited. */
        @Nullable
        CountedUnit requests() {
            return requests;
        }

        /** Null if bytes are not limited. */
        @Nullable
        CountedUnit bytes() {
            return bytes;
        }
    }

    /** The requests, or the bytes of bodies, of one value of the header. */
    final class CountedUnit {
        private final String unit;
        private final int perSecond;
        private final RateCounter counter;
        private final Counter refused;

        private CountedUnit(String unit, int perSecond, String value, Counter refused) {
            this.unit = unit;
            this.perSecond = perSecond;
            this.refused = refused;
            String id = String.join(":", unit, scope().toLowerCase(Locale.ROOT), value, model);
            this.counter = counters.counter(id, perSecond, rate.burst().toNanos());
        }

        RateDecision take(long amount) {
            return counter.take(amount);
        }

        void refund(long amount) {
            counter.refund(amount);
        }

        /** The error for a decision; null if it admits. */
        @Nullable
        OipException refusal(RateDecision decision, long amount) {
            return switch (decision) {
                case RateDecision.Admitted admitted -> null;
                case RateDecision.Exceeded exceeded -> {
                    refused.increment();
                    String what = unit.equals("bytes") ? "a body of " + amount + " bytes" : "the next request";
                    yield exceeded(perSecond + " " + unit, what, exceeded.nanos());
                }
                case RateDecision.Unreadable unreadable ->
                    new OipException(
                            ErrorCode.UNAVAILABLE,
                            "the rate limit of model '" + model
                                    + "' cannot be read, and is configured to admit nothing then");
                case RateDecision.Undecided undecided -> refusal(undecided.join(), amount);
            };
        }
    }
}

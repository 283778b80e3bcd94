package dev.isthmus.gateway.limit;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The rate limits of one model, on requests and on bytes. Thread-safe. */
public final class RateLimits implements AutoCloseable {
    private final List<RateLimit> limits;

    /**
     * Creates the limits of a model, with nothing used.
     *
     * @param model its name in the configuration
     * @param nanoTime as {@link System#nanoTime()}
     */
    public RateLimits(
            String model,
            List<ModelConfig.Rate> rates,
            RateCounters counters,
            LongSupplier nanoTime,
            MeterRegistry meters) {
        this.limits = rates.stream()
                .map(rate -> new RateLimit(model, rate, counters, nanoTime, meters))
                .toList();
    }

    /**
     * Counts a request. If one limit rejects it, none of them has counted it. The charge may be {@linkplain
     * Charge#undecided() undecided}.
     *
     * @param headers values by lower-case name, null if the client does not send it; includes headers that are not
     *     forwarded upstream
     * @param principal name of the authenticated caller; empty if there is none
     * @throws OipException RESOURCE_EXHAUSTED, with the time until the next request is admitted; UNAVAILABLE if a shared
     *     limit cannot be read
     */
    public Charge request(Function<String, @Nullable String> headers, String principal) {
        List<RateLimit.ValueUsage> usages = new ArrayList<>(limits.size());
        for (RateLimit limit : limits) {
            usages.add(limit.usage(headers, principal));
        }
        return new Charge(usages);
    }

    @Override
    public void close() {
        limits.forEach(RateLimit::close);
    }

    /** One counted request, on which its body is counted. Not thread-safe. */
    public static final class Charge {
        private final List<RateLimit.ValueUsage> usages;
        private @Nullable CompletableFuture<Boolean> undecided;
        private boolean counted;

        private Charge(List<RateLimit.ValueUsage> usages) {
            this.usages = usages;
            undecided = takeAll(usages, RateLimit.ValueUsage::requests, 1);
        }

        /**
         * Completes when it is known whether the request, and its body if that was counted, is admitted; fails with the
         * {@link OipException} if it is not. Completes on any thread.
         *
         * @return null if it is admitted
         */
        public @Nullable CompletableFuture<Boolean> undecided() {
            return undecided;
        }

        /**
         * Counts the body once, as soon as its size is known. A body larger than the burst is admitted only if the
         * limit is unused, and delays the following ones.
         *
         * @throws OipException RESOURCE_EXHAUSTED, with the time until a body of this size is admitted; UNAVAILABLE if a
         *     shared limit cannot be read
         */
        public void body(long bytes) {
            if (counted) {
                return;
            }
            counted = true;
            CompletableFuture<Boolean> request = undecided;
            undecided = request == null || (request.isDone() && !request.isCompletedExceptionally())
                    ? takeAll(usages, RateLimit.ValueUsage::bytes, bytes)
                    : request.thenCompose(admitted -> {
                        CompletableFuture<Boolean> body = takeAll(usages, RateLimit.ValueUsage::bytes, bytes);
                        return body == null ? CompletableFuture.completedFuture(true) : body;
                    });
        }
    }

    /**
     * Takes from all limits, or from none.
     *
     * @return null if it was admitted
     */
    private static @Nullable CompletableFuture<Boolean> takeAll(
            List<RateLimit.ValueUsage> usages,
            Function<RateLimit.ValueUsage, RateLimit.@Nullable CountedUnit> unit,
            long amount) {
        for (int i = 0; i < usages.size(); i++) {
            RateLimit.CountedUnit count = unit.apply(usages.get(i));
            RateDecision decision = count == null ? RateDecision.ADMITTED : count.counter.take(amount);
            if (decision != RateDecision.ADMITTED) {
                Taken taken = new Taken(amount);
                usages.subList(0, i).forEach(usage -> taken.add(unit.apply(usage), RateDecision.ADMITTED));
                taken.add(count, decision);
                usages.subList(i + 1, usages.size()).forEach(usage -> taken.take(unit.apply(usage)));
                return taken.concluded();
            }
        }
        return null;
    }

    /** What was taken from several limits, some of which may not have decided. */
    private static final class Taken {
        private final long amount;
        private final List<RateLimit.CountedUnit> counts = new ArrayList<>();
        private final List<RateDecision> decisions = new ArrayList<>();
        private boolean refused;

        Taken(long amount) {
            this.amount = amount;
        }

        void take(RateLimit.@Nullable CountedUnit count) {
            if (count != null && !refused) {
                add(count, count.counter.take(amount));
            }
        }

        void add(RateLimit.@Nullable CountedUnit count, RateDecision decision) {
            if (count != null) {
                counts.add(count);
                decisions.add(decision);
                refused |= !(decision instanceof RateDecision.Admitted || decision instanceof RateDecision.Undecided);
            }
        }

        @Nullable
        CompletableFuture<Boolean> concluded() {
            CompletableFuture<?>[] open = decisions.stream()
                    .filter(RateDecision.Undecided.class::isInstance)
                    .toArray(CompletableFuture<?>[]::new);
            if (open.length == 0 && conclude()) {
                return null;
            }
            return CompletableFuture.allOf(open).thenApply(all -> conclude());
        }

        /** Once all have decided: true, or if one refuses, what was taken is returned and its error thrown. */
        private boolean conclude() {
            OipException failure = null;
            for (int i = 0; i < counts.size() && failure == null; i++) {
                failure = counts.get(i).refusal(decisions.get(i), amount);
            }
            if (failure == null) {
                return true;
            }
            for (int i = 0; i < counts.size(); i++) {
                RateDecision decision = decisions.get(i) instanceof RateDecision.Undecided undecided
                        ? undecided.join()
                        : decisions.get(i);
                if (decision instanceof RateDecision.Admitted) {
                    counts.get(i).counter.refund(amount);
                }
            }
            throw failure;
        }
    }

    /**
     * One limit, for all calls together, for each value of a header or for each caller. Values that have not been seen for a while are
     * evicted.
     */
    static final class RateLimit implements AutoCloseable {
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

        RateLimit(
                String model,
                ModelConfig.Rate rate,
                RateCounters counters,
                LongSupplier nanoTime,
                MeterRegistry meters) {
            this.model = model;
            this.rate = rate;
            this.counters = counters;
            this.meters = new ReplaceableMeters(meters);
            this.usages = Caffeine.newBuilder()
                    .maximumSize(MAX_KEYS)
                    .expireAfterAccess(idle(rate))
                    .ticker(nanoTime::getAsLong)
                    // Keeps eviction off the common pool.
                    .executor(Runnable::run)
                    .build(this::usage);
            this.refusedRequests = counter("requests");
            this.refusedBodies = counter("bytes");
        }

        /** Longer than a value takes to be unused again, whatever it owes for its last body. */
        private static Duration idle(ModelConfig.Rate rate) {
            Integer bytes = rate.bytesPerSecond();
            Duration debt = Duration.ofSeconds(bytes == null ? 0 : Integer.MAX_VALUE / bytes);
            return Collections.max(List.of(IDLE, rate.burst().plus(debt)));
        }

        private Counter counter(String kind) {
            return meters.add(Counter.builder("isthmus.rate.limited")
                    .description(
                            "Calls refused because of the route's rates; header is principal for a limit by caller")
                    .tags("model", model, "limit", kind, "header", scope())::register);
        }

        private String scope() {
            return rate.principal() ? "principal" : Objects.requireNonNullElse(rate.header(), "none");
        }

        /** The usage that a call is counted on. */
        ValueUsage usage(Function<String, @Nullable String> headers, String principal) {
            String header = rate.header();
            String value = rate.principal()
                    ? principal
                    : header == null ? null : headers.apply(header.toLowerCase(Locale.ROOT));
            String key = value == null ? NO_KEY : key(value);
            return Objects.requireNonNull(usages.get(key));
        }

        private ValueUsage usage(String key) {
            String value = key.isEmpty() ? "" : Digests.hex(Digests.SHA_256, key);
            Integer bytes = rate.bytesPerSecond();
            return new ValueUsage(
                    rate.requestsPerSecond() == 0
                            ? null
                            : new CountedUnit("requests", rate.requestsPerSecond(), value, refusedRequests),
                    bytes == null ? null : new CountedUnit("bytes", bytes, value, refusedBodies));
        }

        private static String key(String value) {
            return value.length() <= MAX_KEY_LENGTH ? value : Digests.hex(Digests.SHA_256, value);
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

        /** The usage of one value of the header; null for what is not limited. */
        record ValueUsage(
                @Nullable CountedUnit requests, @Nullable CountedUnit bytes) {}

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
}

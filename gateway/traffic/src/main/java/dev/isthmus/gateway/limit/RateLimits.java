package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
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
            RateDecision decision = count == null ? RateDecision.ADMITTED : count.take(amount);
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
                add(count, count.take(amount));
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
                    counts.get(i).refund(amount);
                }
            }
            throw failure;
        }
    }
}

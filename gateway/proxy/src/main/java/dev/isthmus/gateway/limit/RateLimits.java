package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
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
    public RateLimits(String model, List<ModelConfig.Rate> rates, LongSupplier nanoTime, MeterRegistry meters) {
        this.limits = rates.stream()
                .map(rate -> new RateLimit(model, rate, nanoTime, meters))
                .toList();
    }

    /**
     * Counts a request. If one limit rejects it, none of them has counted it.
     *
     * @param headers values by lower-case name, null if the client does not send it; includes headers that are not
     *     forwarded upstream
     * @param principal name of the authenticated caller; empty if there is none
     * @throws OipException RESOURCE_EXHAUSTED, with the time until the next request is admitted
     */
    public Charge request(Function<String, @Nullable String> headers, String principal) {
        List<RateLimit.ValueUsage> usages = new ArrayList<>(limits.size());
        try {
            for (RateLimit limit : limits) {
                RateLimit.ValueUsage share = limit.usage(headers, principal);
                share.chargeRequest();
                usages.add(share);
            }
        } catch (OipException refused) {
            usages.forEach(RateLimit.ValueUsage::refundRequest);
            throw refused;
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
        private boolean counted;

        private Charge(List<RateLimit.ValueUsage> usages) {
            this.usages = usages;
        }

        /**
         * Counts the body once, as soon as its size is known. A body larger than the burst is admitted only if the
         * limit is unused, and delays the following ones.
         *
         * @throws OipException RESOURCE_EXHAUSTED, with the time until a body of this size is admitted
         */
        public void body(long bytes) {
            if (counted) {
                return;
            }
            counted = true;
            for (int i = 0; i < usages.size(); i++) {
                try {
                    usages.get(i).chargeBody(bytes);
                } catch (OipException refused) {
                    usages.subList(0, i).forEach(share -> share.refundBody(bytes));
                    throw refused;
                }
            }
        }
    }
}

package dev.isthmus.gateway.limit;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The limits on the requests to one model and on their bytes, in a time. For all event loops. */
public final class RateLimits implements AutoCloseable {
    private final List<RateLimit> limits;

    /**
     * The limits of a model, nothing of which is used up.
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
     * Counts a request. Where one limit refuses it, none has counted it.
     *
     * @param headers values by lower-case name, null where the client sends none: also of headers that do not go upstream
     * @throws OipException RESOURCE_EXHAUSTED, with the time until the next request fits
     */
    public Charge request(Function<String, @Nullable String> headers) {
        List<RateLimit.ValueUsage> shares = new ArrayList<>(limits.size());
        try {
            for (RateLimit limit : limits) {
                RateLimit.ValueUsage share = limit.share(headers);
                share.request();
                shares.add(share);
            }
        } catch (OipException refused) {
            shares.forEach(RateLimit.ValueUsage::requestBack);
            throw refused;
        }
        return new Charge(shares);
    }

    @Override
    public void close() {
        limits.forEach(RateLimit::close);
    }

    /** One request that was counted, and what its body is counted on. Used by one thread. */
    public static final class Charge {
        private final List<RateLimit.ValueUsage> shares;
        private boolean counted;

        private Charge(List<RateLimit.ValueUsage> shares) {
            this.shares = shares;
        }

        /**
         * Counts the body, once: as soon as its size is known. One that is larger than any burst passes where nothing was
         * counted for long, and what follows waits the longer.
         *
         * @throws OipException RESOURCE_EXHAUSTED, with the time until a body of this size fits
         */
        public void body(long bytes) {
            if (counted) {
                return;
            }
            counted = true;
            for (int i = 0; i < shares.size(); i++) {
                try {
                    shares.get(i).body(bytes);
                } catch (OipException refused) {
                    shares.subList(0, i).forEach(share -> share.bodyBack(bytes));
                    throw refused;
                }
            }
        }
    }
}

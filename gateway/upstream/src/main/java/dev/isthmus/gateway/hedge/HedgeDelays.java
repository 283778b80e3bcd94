package dev.isthmus.gateway.hedge;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** How long to wait for an answer of each model before a second server is asked. Thread-safe. */
public final class HedgeDelays {
    /** Clients choose the names of models; each costs 3 KB. */
    private static final int MODELS = 4096;

    private static final Duration IDLE = Duration.ofMinutes(10);

    private final Hedging settings;
    private final LongSupplier nanoTime;
    private final Cache<ModelRef, LatencyDigest> models = Caffeine.newBuilder()
            .maximumSize(MODELS)
            .expireAfterAccess(IDLE)
            .executor(Runnable::run)
            .build();

    /**
     * Nothing is known at first.
     *
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public HedgeDelays(Hedging settings, LongSupplier nanoTime) {
        this.settings = settings;
        this.nanoTime = nanoTime;
    }

    /** Nanoseconds; {@link Long#MAX_VALUE} as long as too little is known of the model. */
    public long nanos(ModelRef model) {
        LatencyDigest digest = models.getIfPresent(model);
        return digest == null ? Long.MAX_VALUE : Math.max(settings.minDelay().toNanos(), digest.nanos());
    }

    /**
     * Records the latency of a call that was answered, or given up because another server was faster.
     *
     * @param latency in nanoseconds
     */
    public void measure(ModelRef model, long latency) {
        long now = nanoTime.getAsLong();
        @Nullable LatencyDigest digest = models.get(model, name -> new LatencyDigest(settings.quantile(), now));
        if (digest != null) {
            digest.measure(latency, now);
        }
    }
}

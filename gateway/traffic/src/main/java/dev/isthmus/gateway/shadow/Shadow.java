package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.util.concurrent.atomic.AtomicInteger;

/** One shadow of a route: its settings and figures, and how many copies for it are in flight. Thread-safe. */
final class Shadow implements AutoCloseable {
    private final ShadowName name;
    private final ModelConfig.ShadowConfig config;
    private final Transcoder transcoder;
    private final ShadowRuntime runtime;
    private final ShadowFigures figures;
    private final FloatTolerance tolerance;
    private final AtomicInteger inFlight = new AtomicInteger();

    Shadow(ShadowName name, ModelConfig.ShadowConfig config, Transcoder transcoder, ShadowRuntime runtime) {
        this.name = name;
        this.config = config;
        this.transcoder = transcoder;
        this.runtime = runtime;
        this.figures = runtime.figures(name);
        this.tolerance = new FloatTolerance(config.rtol(), config.atol());
    }

    ModelConfig.ShadowConfig config() {
        return config;
    }

    Transcoder transcoder() {
        return transcoder;
    }

    /** The tolerance of comparisons. */
    FloatTolerance tolerance() {
        return tolerance;
    }

    ShadowRuntime runtime() {
        return runtime;
    }

    ShadowFigures figures() {
        return figures;
    }

    /** Whether this call is sampled. */
    boolean sampled() {
        return config.sample() >= 1 || runtime.random().nextDouble() < config.sample();
    }

    /** Acquires a permit for one more copy in flight; {@link #release()} releases it. */
    boolean acquire() {
        if (inFlight.incrementAndGet() <= config.maxInFlight()) {
            return true;
        }
        inFlight.decrementAndGet();
        return false;
    }

    void release() {
        inFlight.decrementAndGet();
    }

    int inFlight() {
        return inFlight.get();
    }

    @Override
    public void close() {
        runtime.forget(name);
    }
}

package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One shadow of a route: its settings and figures, and how many copies for it are in flight. Thread-safe.
 *
 * @param tolerance of comparisons
 * @param copies how many are in flight
 */
record Shadow(
        ShadowName name,
        ModelConfig.ShadowConfig config,
        Transcoder transcoder,
        ShadowRuntime runtime,
        ShadowFigures figures,
        FloatTolerance tolerance,
        AtomicInteger copies)
        implements AutoCloseable {

    static Shadow of(ShadowName name, ModelConfig.ShadowConfig config, Transcoder transcoder, ShadowRuntime runtime) {
        FloatTolerance tolerance = new FloatTolerance(config.rtol(), config.atol());
        return new Shadow(name, config, transcoder, runtime, runtime.figures(name), tolerance, new AtomicInteger());
    }

    boolean sampled() {
        return config.sample() >= 1 || runtime.random().nextDouble() < config.sample();
    }

    /** Acquires a permit for one more copy in flight; {@link #release()} releases it. */
    boolean acquire() {
        if (copies.incrementAndGet() <= config.maxInFlight()) {
            return true;
        }
        copies.decrementAndGet();
        return false;
    }

    void release() {
        copies.decrementAndGet();
    }

    @Override
    public void close() {
        runtime.forget(name);
    }
}

package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.util.concurrent.Semaphore;

/**
 * One shadow of a route: its settings and figures, and how many copies for it are in flight. Thread-safe.
 *
 * @param tolerance of comparisons
 * @param copies how many more may be in flight
 */
record Shadow(
        ShadowName name,
        ModelConfig.ShadowConfig config,
        Transcoder transcoder,
        ShadowRuntime runtime,
        ShadowFigures figures,
        FloatTolerance tolerance,
        Semaphore copies)
        implements AutoCloseable {

    static Shadow of(ShadowName name, ModelConfig.ShadowConfig config, Transcoder transcoder, ShadowRuntime runtime) {
        FloatTolerance tolerance = new FloatTolerance(config.rtol(), config.atol());
        Semaphore copies = new Semaphore(config.maxInFlight());
        return new Shadow(name, config, transcoder, runtime, runtime.figures(name), tolerance, copies);
    }

    boolean sampled() {
        return config.sample() >= 1 || runtime.random.nextDouble() < config.sample();
    }

    @Override
    public void close() {
        runtime.forget(name);
    }
}

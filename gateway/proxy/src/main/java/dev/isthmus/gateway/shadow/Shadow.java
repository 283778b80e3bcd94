package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.transcoder.Transcoder;
import java.util.concurrent.atomic.AtomicInteger;

/** One shadow of a route. Used by all event loops. */
final class Shadow implements AutoCloseable {
    private final ShadowName name;
    private final ModelConfig.ShadowConfig config;
    private final Transcoder transcoder;
    private final ShadowRuntime runtime;
    private final ShadowFigures figures;
    private final AtomicInteger underWay = new AtomicInteger();

    Shadow(ShadowName name, ModelConfig.ShadowConfig config, Transcoder transcoder, ShadowRuntime runtime) {
        this.name = name;
        this.config = config;
        this.transcoder = transcoder;
        this.runtime = runtime;
        this.figures = runtime.figures(name);
    }

    ModelConfig.ShadowConfig config() {
        return config;
    }

    Transcoder transcoder() {
        return transcoder;
    }

    ShadowRuntime runtime() {
        return runtime;
    }

    ShadowFigures figures() {
        return figures;
    }

    /** Whether chance wants this call copied. */
    boolean sampled() {
        return config.sample() >= 1 || runtime.random().nextDouble() < config.sample();
    }

    /** Whether one more copy may be under way; it is then, until {@link #exit()}. */
    boolean enter() {
        if (underWay.incrementAndGet() <= config.maxInFlight()) {
            return true;
        }
        underWay.decrementAndGet();
        return false;
    }

    void exit() {
        underWay.decrementAndGet();
    }

    int underWay() {
        return underWay.get();
    }

    @Override
    public void close() {
        runtime.forget(name);
    }
}

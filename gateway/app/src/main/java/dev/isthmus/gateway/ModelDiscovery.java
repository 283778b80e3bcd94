package dev.isthmus.gateway;

import dev.isthmus.gateway.fleet.kserve.InferenceServiceDiscovery;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Adds what is discovered to the configuration as it is written, and has it applied again when that changes, at most
 * once a second. Thread-safe.
 */
final class ModelDiscovery implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ModelDiscovery.class);

    /** How long a start or reload waits for the API server. */
    private static final Duration FIRST_LIST = Duration.ofSeconds(5);

    /** Between two applications. The first change after it is applied at once: KServe may delete servers with it. */
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final ScheduledExecutorService scheduler;
    private final Runnable apply;
    private final InferenceServiceDiscovery services;
    private final AtomicBoolean scheduled = new AtomicBoolean();

    /** When the last application began or ended, as {@link System#nanoTime}. */
    private volatile long applied = System.nanoTime() - PAUSE.toNanos();

    private volatile GatewayConfig written = GatewayConfig.DEFAULT;
    private volatile boolean started;

    /**
     * Discovers nothing yet, and applies nothing before {@link #start}.
     *
     * @param scheduler runs {@code apply}
     * @param apply applies {@link #written()} again
     */
    ModelDiscovery(ScheduledExecutorService scheduler, Runnable apply) {
        this.scheduler = scheduler;
        this.apply = apply;
        RandomGenerator random = () -> ThreadLocalRandom.current().nextLong();
        services = new InferenceServiceDiscovery(System.getenv(), random, this::changed);
    }

    /** The configuration in effect, without what was discovered. */
    GatewayConfig written() {
        return written;
    }

    /**
     * A configuration with what is discovered for it. {@link #inEffect} follows, whether or not it was applied. May
     * block.
     */
    GatewayConfig merged(GatewayConfig config) {
        services.watch(config, FIRST_LIST);
        return services.merged(config);
    }

    /** A configuration, without what was discovered, is in effect: ends discovery for others. */
    void inEffect(GatewayConfig config) {
        written = config;
        services.retain(config);
    }

    /** Has changes applied from now on, and those since {@link #merged}. */
    void start() {
        started = true;
        if (!written.discover().kserve().isEmpty()) {
            changed();
        }
    }

    private void changed() {
        if (!started || !scheduled.compareAndSet(false, true)) {
            return;
        }
        try {
            long wait = applied + PAUSE.toNanos() - System.nanoTime();
            scheduler.schedule(this::applyNow, Math.max(0, wait), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the gateway is shutting down", e);
        }
    }

    private void applyNow() {
        applied = System.nanoTime();
        scheduled.set(false);
        try {
            apply.run();
        } catch (RuntimeException fault) {
            LOG.error("internal error; discovered models stay as they were; please report it", fault);
        } finally {
            applied = System.nanoTime();
        }
    }

    @Override
    public void close() {
        services.close();
    }
}

package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * State shared by all shadows of a process: their limits, the comparison thread, and their statistics, which are kept
 * while any configuration has the shadow. Thread-safe.
 */
public final class ShadowRuntime implements AutoCloseable {
    private final MeterRegistry registry;
    private final RandomGenerator random;
    private final LongSupplier nanoTime;
    private final DifferenceListener listener;
    private final ShadowLimits limits;
    private final ReservedBytes held;
    private final ResponseComparer comparer;
    private final Map<ShadowName, SharedFigures> figures = new HashMap<>();

    /** Statistics, and the number of shadows of current and replaced configurations that use them. */
    private record SharedFigures(ShadowFigures figures, int uses) {}

    /**
     * Starts without shadows.
     *
     * @param random samples the calls; thread-safe
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public ShadowRuntime(
            MeterRegistry registry,
            RandomGenerator random,
            LongSupplier nanoTime,
            DifferenceListener listener,
            ShadowLimits limits) {
        this.registry = registry;
        this.random = random;
        this.nanoTime = nanoTime;
        this.listener = listener;
        this.limits = limits;
        this.held = new ReservedBytes(limits.heldBytes());
        this.comparer = new ResponseComparer(limits.queued());
    }

    RandomGenerator random() {
        return random;
    }

    long now() {
        return nanoTime.getAsLong();
    }

    ShadowLimits limits() {
        return limits;
    }

    ReservedBytes held() {
        return held;
    }

    ResponseComparer comparer() {
        return comparer;
    }

    /** The statistics of a shadow; {@link #forget} must follow. */
    ShadowFigures figures(ShadowName name) {
        synchronized (figures) {
            SharedFigures shared = figures.get(name);
            ShadowFigures statistics = shared == null
                    ? new ShadowFigures(name, new ReplaceableMeters(registry), nanoTime, listener)
                    : shared.figures();
            figures.put(name, new SharedFigures(statistics, shared == null ? 1 : shared.uses() + 1));
            return statistics;
        }
    }

    void forget(ShadowName name) {
        synchronized (figures) {
            SharedFigures shared = figures.remove(name);
            if (shared != null && shared.uses() > 1) {
                figures.put(name, new SharedFigures(shared.figures(), shared.uses() - 1));
            } else if (shared != null) {
                shared.figures().close();
            }
        }
    }

    /** All shadows, by model and name. */
    public List<ShadowReport> reports() {
        synchronized (figures) {
            return figures.values().stream()
                    .map(shared -> shared.figures().report())
                    .sorted(Comparator.comparing(ShadowReport::model).thenComparing(ShadowReport::shadow))
                    .toList();
        }
    }

    /** All shadows as JSON, for the admin listener. */
    public ArrayNode document() {
        ArrayNode document = JsonNodeFactory.instance.arrayNode();
        reports().forEach(report -> document.add(report.document()));
        return document;
    }

    /** Stops comparing; may wait for the comparison in progress. Copies in flight end with their upstreams. */
    @Override
    public void close() {
        comparer.close();
    }
}

package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What all shadows of a process share: their limits, the thread that compares, and their figures, which live as long as any
 * configuration has the shadow. Used from any thread.
 */
public final class ShadowRuntime implements AutoCloseable {
    private final MeterRegistry registry;
    private final RandomGenerator random;
    private final LongSupplier nanoTime;
    private final DifferenceListener listener;
    private final ShadowLimits limits;
    private final ShadowMemory held;
    private final ResponseComparer comparer;
    private final Map<ShadowName, SharedFigures> figures = new HashMap<>();

    /** Figures and how many shadows, of this and of replaced configurations, count on them. */
    private record SharedFigures(ShadowFigures figures, int uses) {}

    /**
     * No shadows yet.
     *
     * @param random chooses the calls; used by all event loops
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
        this.held = new ShadowMemory(limits.heldBytes());
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

    ShadowMemory held() {
        return held;
    }

    ResponseComparer comparer() {
        return comparer;
    }

    /** The figures of a shadow; {@link #forget} follows. */
    ShadowFigures figures(ShadowName name) {
        synchronized (figures) {
            SharedFigures used = figures.get(name);
            ShadowFigures known = used == null
                    ? new ShadowFigures(name, new ReplaceableMeters(registry), nanoTime, listener)
                    : used.figures();
            figures.put(name, new SharedFigures(known, used == null ? 1 : used.uses() + 1));
            return known;
        }
    }

    void forget(ShadowName name) {
        synchronized (figures) {
            SharedFigures used = figures.remove(name);
            if (used != null && used.uses() > 1) {
                figures.put(name, new SharedFigures(used.figures(), used.uses() - 1));
            } else if (used != null) {
                used.figures().close();
            }
        }
    }

    /** All shadows as they are now, by model and name. */
    public List<ShadowReport> reports() {
        synchronized (figures) {
            return figures.values().stream()
                    .map(used -> used.figures().report())
                    .sorted(Comparator.comparing(ShadowReport::model).thenComparing(ShadowReport::shadow))
                    .toList();
        }
    }

    /** The same for the admin listener. */
    public ArrayNode document() {
        ArrayNode document = JsonNodeFactory.instance.arrayNode();
        reports().forEach(report -> document.add(report.document()));
        return document;
    }

    /** Ends the comparisons; may wait for the one under way. Copies under way end with their upstreams. */
    @Override
    public void close() {
        comparer.close();
    }
}

package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All ramps of a process, by their model: the routes' keys. They outlive reloads of the configuration that leave them as they
 * are. Used from any thread; a record takes no lock.
 */
public final class Ramps implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Ramps.class);
    private static final long TICK_MILLIS = 1_000;
    private static final int SERVER_ERRORS = 500;

    private final MeterRegistry registry;
    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final SavedRamps saved;
    private final ScheduledFuture<?> schedule;
    private volatile Map<String, Ramp> byModel = Map.of();

    /**
     * No ramps yet.
     *
     * @param nanoTime on any scale, but not the wall clock's
     * @param scheduler looks after the ramps every second until this is closed; the caller's. It may be blocked
     */
    public Ramps(MeterRegistry registry, LongSupplier nanoTime, ScheduledExecutorService scheduler) {
        this(registry, nanoTime, InstantSource.system(), scheduler, RampStateStore.NONE);
    }

    /**
     * The same, going on from what the store has.
     *
     * @param clock says for people when a ramp changed
     */
    public Ramps(
            MeterRegistry registry,
            LongSupplier nanoTime,
            InstantSource clock,
            ScheduledExecutorService scheduler,
            RampStateStore store) {
        this.registry = registry;
        this.nanoTime = nanoTime;
        this.clock = clock;
        this.saved = new SavedRamps(store);
        this.schedule = scheduler.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Whether a failure counts against a target: what is the server's and not the client's. */
    public static boolean counts(ErrorCode code) {
        return code.httpStatus() >= SERVER_ERRORS;
    }

    /**
     * A configuration takes over: its ramps begin, those that it has unchanged go on where they are with its weights, others
     * end. What begins goes on where it was saved. Called before calls go by the new weights; may block.
     */
    public synchronized void install(Map<RampPlan, TargetWeights> plans) {
        Map<String, Ramp> next = new HashMap<>();
        Map<String, Ramp> before = byModel;
        plans.forEach((plan, weights) -> {
            Ramp known = before.get(plan.model());
            if (known != null && known.plan().equals(plan)) {
                known.moveTo(weights);
                next.put(plan.model(), known);
            }
        });
        // The meters of what ends go before new ones of the same names come.
        before.values().stream().filter(ramp -> !next.containsValue(ramp)).forEach(Ramp::close);
        plans.forEach((plan, weights) ->
                next.computeIfAbsent(plan.model(), model -> begun(plan, weights, before.containsKey(model))));
        byModel = Map.copyOf(next);
        save();
    }

    /** @param changed whether another ramp of the model was here: what was saved is that one's */
    private Ramp begun(RampPlan plan, TargetWeights weights, boolean changed) {
        return new Ramp(plan, weights, changed ? null : saved.of(plan), nanoTime, clock, registry);
    }

    private void save() {
        saved.save(() -> {
            Map<String, SavedRamp> now = new HashMap<>();
            byModel.forEach((model, ramp) -> now.put(model, ramp.saved()));
            return now;
        });
    }

    /**
     * A call of a model's target ended. Nothing happens where the model has no ramp.
     *
     * @param failed as in {@link #counts}; calls that a client gave up are not recorded
     * @param nanos from the request's going out to the answer's coming
     */
    public void record(String model, String arm, boolean failed, long nanos) {
        Ramp ramp = byModel.get(model);
        if (ramp != null) {
            ramp.record(arm, failed, nanos);
        }
    }

    /** The answer of a model's shadow differs from the main one; it counts where the shadow has the ramped target's name. */
    public void differed(String model, String shadow, double difference) {
        Ramp ramp = byModel.get(model);
        if (ramp != null && ramp.plan().arm().equals(shadow)) {
            ramp.differed(difference);
        }
    }

    /** Looks after all ramps now. */
    void tick() {
        for (Ramp ramp : byModel.values()) {
            try {
                ramp.tick();
            } catch (RuntimeException fault) {
                // The others, and the next tick, are to come all the same.
                LOG.error("ramp of model '{}'", ramp.plan().model(), fault);
            }
        }
        save();
    }

    /**
     * No further steps until {@link #resume}; the guard stays.
     *
     * @throws OipException NOT_FOUND where the model has no ramp
     */
    public void pause(String model) {
        of(model).pause();
        save();
    }

    /**
     * Steps go on.
     *
     * @throws OipException NOT_FOUND where the model has no ramp
     */
    public void resume(String model) {
        of(model).resume();
        save();
    }

    /**
     * Begins again at the first step, whatever happened.
     *
     * @throws OipException NOT_FOUND where the model has no ramp
     */
    public void restart(String model) {
        of(model).restart();
        save();
    }

    /**
     * Takes the target's share away until {@link #restart}.
     *
     * @throws OipException NOT_FOUND where the model has no ramp
     */
    public void rollBack(String model) {
        of(model).rollBack();
        save();
    }

    private Ramp of(String model) {
        Ramp ramp = byModel.get(model);
        if (ramp == null) {
            throw new OipException(ErrorCode.NOT_FOUND, "model '" + model + "' has no ramp");
        }
        return ramp;
    }

    /** All ramps as they are now, by model. */
    public List<RampReport> reports() {
        return byModel.values().stream()
                .map(Ramp::report)
                .sorted(Comparator.comparing(RampReport::model))
                .toList();
    }

    /** The same for the admin listener. */
    public ArrayNode document() {
        ArrayNode document = JsonNodeFactory.instance.arrayNode();
        reports().forEach(report -> document.add(report.document()));
        return document;
    }

    @Override
    public synchronized void close() {
        schedule.cancel(false);
        saved.close();
        byModel.values().forEach(Ramp::close);
        byModel = Map.of();
    }
}

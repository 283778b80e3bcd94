package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All ramps of a process, by the route's key. A ramp survives reloads that leave its target unchanged and its current
 * share among its steps.
 * Thread-safe; recording is lock-free.
 */
public final class Ramps implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Ramps.class);
    private static final long TICK_MILLIS = 1_000;
    private static final long EXCHANGE_MILLIS = 250;
    private static final int SERVER_ERRORS = 500;

    private final MeterRegistry registry;
    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final SavedRamps saved;
    /** The states in common with other gateways; null for none: a ramp then changes by itself. */
    private final @Nullable SharedRamps shared;

    private final Object exchanging = new Object();

    private final List<ScheduledFuture<?>> schedules;
    private volatile Map<String, Ramp> byModel = Map.of();
    private volatile List<String> interruptions = List.of();

    /**
     * @param nanoTime on any scale, but not wall-clock time
     * @param clock says for people when a ramp changed
     * @param scheduler checks the ramps every second until this is closed; not closed by this. It may be blocked
     * @param store has the progress from which ramps go on
     * @param shared the states in common with other gateways; null for none
     */
    public Ramps(
            MeterRegistry registry,
            LongSupplier nanoTime,
            InstantSource clock,
            ScheduledExecutorService scheduler,
            RampStateFile store,
            @Nullable SharedRamps shared) {
        this.registry = registry;
        this.nanoTime = nanoTime;
        this.clock = clock;
        this.saved = new SavedRamps(store);
        this.shared = shared;
        ScheduledFuture<?> ticks =
                scheduler.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
        this.schedules = shared == null
                ? List.of(ticks)
                : List.of(
                        ticks,
                        scheduler.scheduleWithFixedDelay(
                                () -> each(this::merge), EXCHANGE_MILLIS, EXCHANGE_MILLIS, TimeUnit.MILLISECONDS));
    }

    /** Whether a failure counts against a target: those caused by the server, not by the client. */
    public static boolean counts(ErrorCode code) {
        return code.httpStatus() >= SERVER_ERRORS;
    }

    /**
     * Replaces the ramps: those of the same targets continue with the new weights and limits, new ones start with their
     * saved progress, the others end. Called before calls are routed by the new weights; may block.
     */
    public synchronized void install(Map<RampPlan, TargetWeights> plans) {
        Map<String, Ramp> installed = new HashMap<>();
        Map<String, Ramp> before = byModel;
        List<String> lost = new ArrayList<>();
        plans.forEach((plan, weights) -> {
            Ramp existing = before.get(plan.model());
            if (existing != null && existing.plan().targetText().equals(plan.targetText())) {
                String state = existing.described();
                if (existing.moveTo(plan, weights)) {
                    lost.add(again(existing, state, "its share is not one of the steps any more"));
                }
                installed.put(plan.model(), existing);
            }
        });
        // Meters of ended ramps are removed before new ones of the same names are registered.
        Map<String, String> ended = new TreeMap<>();
        before.forEach((model, ramp) -> {
            if (!installed.containsValue(ramp)) {
                ended.put(model, ramp.described());
                ramp.close();
            }
        });
        plans.forEach((plan, weights) ->
                installed.computeIfAbsent(plan.model(), model -> begun(plan, weights, before.containsKey(model))));
        ended.forEach((model, state) -> lost.add(ending(model, state, installed.get(model))));
        interruptions = List.copyOf(lost);
        byModel = Map.copyOf(installed);
        save();
    }

    private static String ending(String model, String state, @Nullable Ramp next) {
        return next == null
                ? "ramp of model '" + model + "': it ends (" + state + "); its target gets its configured weight"
                : again(next, state, "its target is another one");
    }

    private static String again(Ramp ramp, String state, String reason) {
        return "ramp of model '" + ramp.plan().model() + "': it begins again (" + ramp.described() + ", before " + state
                + "), because " + reason;
    }

    /** The ramps that the last installation ended or began again, and why; for operators. */
    public List<String> interruptions() {
        return interruptions;
    }

    /** @param changed whether the model had another ramp, to which the saved progress belongs */
    private Ramp begun(RampPlan plan, TargetWeights weights, boolean changed) {
        SavedRamp before = changed ? null : saved.of(plan);
        Ramp ramp = new Ramp(plan, weights, before, nanoTime, clock, registry);
        if (!merge(ramp) && before == null) {
            ramp.awaitCommonState();
        }
        return ramp;
    }

    private void save() {
        saved.save(() -> {
            Map<String, SavedRamp> now = new HashMap<>();
            byModel.values().stream()
                    .filter(ramp -> !ramp.isUnknown())
                    .forEach(ramp -> now.put(ramp.plan().model(), ramp.saved()));
            return now;
        });
    }

    /**
     * Records the end of a call to a model's target. Does nothing if the model has no ramp.
     *
     * @param failed as in {@link #counts}; calls cancelled by their client are not recorded
     * @param nanos from sending the request to the response
     */
    public void record(String model, String arm, boolean failed, long nanos) {
        Ramp ramp = byModel.get(model);
        if (ramp != null) {
            ramp.record(arm, failed, nanos);
        }
    }

    /**
     * Records how far a shadow's response differs from the primary one; it counts if the shadow is named like the
     * ramped target.
     */
    public void differed(String model, String shadow, double difference) {
        Ramp ramp = byModel.get(model);
        if (ramp != null && ramp.plan().arm().equals(shadow)) {
            ramp.differed(difference);
        }
    }

    void tick() {
        each(ramp -> {
            SavedRamp next = ramp.check();
            if (next == null) {
                merge(ramp);
            } else if (shared == null) {
                ramp.advance(next);
            } else {
                // It stays at its step if the other gateways cannot be reached.
                exchange(ramp, SharedRamps.RampCommand.ADVANCE, next);
            }
        });
    }

    private void each(Consumer<Ramp> step) {
        for (Ramp ramp : byModel.values()) {
            try {
                step.accept(ramp);
            } catch (RuntimeException fault) {
                // Must not stop the other ramps or the next tick.
                RepeatingLogEvent.fault(LOG, fault)
                        .addKeyValue("model", ramp.plan().model())
                        .log(
                                "internal error in the ramp of model '{}'; please report it",
                                ramp.plan().model());
            }
        }
        save();
    }

    /**
     * Stops stepping until {@link #resume}; the guard stays active.
     *
     * @throws OipException NOT_FOUND if the model has no ramp; UNAVAILABLE if the common state cannot be changed
     */
    public void pause(String model) {
        command(of(model), SharedRamps.RampCommand.PAUSE);
        save();
    }

    /**
     * Continues stepping.
     *
     * @throws OipException NOT_FOUND if the model has no ramp; UNAVAILABLE if the common state cannot be changed
     */
    public void resume(String model) {
        command(of(model), SharedRamps.RampCommand.RESUME);
        save();
    }

    /**
     * Starts again at the first step, in any state.
     *
     * @throws OipException NOT_FOUND if the model has no ramp; UNAVAILABLE if the common state cannot be changed
     */
    public void restart(String model) {
        command(of(model), SharedRamps.RampCommand.RESTART);
        save();
    }

    /**
     * Sets the target's share to 0 until {@link #restart}. If the common state cannot be changed now, it is later.
     *
     * @throws OipException NOT_FOUND if the model has no ramp
     */
    public void rollBack(String model) {
        Ramp ramp = of(model);
        ramp.rollBack();
        merge(ramp);
        save();
    }

    private Ramp of(String model) {
        Ramp ramp = byModel.get(model);
        if (ramp == null) {
            throw new OipException(ErrorCode.NOT_FOUND, "model '" + model + "' has no ramp");
        }
        return ramp;
    }

    /** All ramps, by model. */
    public List<RampReport> reports() {
        return byModel.values().stream()
                .map(Ramp::report)
                .sorted(Comparator.comparing(RampReport::model))
                .toList();
    }

    public ArrayNode document() {
        ArrayNode document = JsonNodeFactory.instance.arrayNode();
        reports().forEach(report -> document.add(report.document()));
        return document;
    }

    @Override
    public synchronized void close() {
        schedules.forEach(schedule -> schedule.cancel(false));
        saved.close();
        byModel.values().forEach(Ramp::close);
        byModel = Map.of();
    }

    /** Takes over the common state, and adds a rollback to it. Returns false if it cannot be reached. */
    private boolean merge(Ramp ramp) {
        return exchange(ramp, SharedRamps.RampCommand.MERGE, ramp.saved());
    }

    /** @throws OipException UNAVAILABLE if the common state cannot be changed */
    private void command(Ramp ramp, SharedRamps.RampCommand command) {
        if (shared == null) {
            switch (command) {
                case PAUSE -> ramp.pause();
                case RESUME -> ramp.resume();
                case RESTART -> ramp.restart();
                case MERGE, ADVANCE -> {}
            }
        } else if (!exchange(ramp, command, ramp.saved())) {
            throw new OipException(
                    ErrorCode.UNAVAILABLE,
                    "the ramp of model '" + ramp.plan().model()
                            + "' is shared, and the store does not answer; only a rollback is possible now");
        }
    }

    /** One at a time, but not under the lock of this, which a reload holds for all of its ramps. */
    private boolean exchange(Ramp ramp, SharedRamps.RampCommand command, SavedRamp wanted) {
        if (shared == null) {
            return true;
        }
        synchronized (exchanging) {
            SavedRamp mine = ramp.saved();
            if (command == SharedRamps.RampCommand.ADVANCE && !wanted.follows(mine)) {
                // An operator or a reload has changed it since.
                return true;
            }
            try {
                SavedRamp timed = wanted.with(wanted.state(), wanted.step(), clock.instant());
                ramp.adopt(shared.exchange(ramp.plan().model(), mine, command, timed));
                return true;
            } catch (IOException e) {
                LOG.debug("ramp of model '{}': {}", ramp.plan().model(), FailureReason.of(e));
                return false;
            }
        }
    }

    /** The saved progress of ramps. A failing store is reported once and retried; ramps continue without it. */
    static final class SavedRamps {
        private static final Logger LOG = LoggerFactory.getLogger(SavedRamps.class);

        private final RampStateFile store;
        private Map<String, SavedRamp> saved;
        private boolean failing;
        private boolean closed;

        SavedRamps(RampStateFile store) {
            this.store = store;
            this.saved = loaded(store);
        }

        private static Map<String, SavedRamp> loaded(RampStateFile store) {
            try {
                return store.load();
            } catch (IOException e) {
                LOG.error(
                        "cannot read the ramp state in '{}', so every ramp starts at its first step; check ramps.state_file: {}",
                        store,
                        FailureReason.of(e));
                return Map.of();
            }
        }

        /** The saved progress of a ramp; null if there is none, or it does not fit its configuration. */
        synchronized @Nullable SavedRamp of(RampPlan plan) {
            SavedRamp ramp = saved.get(plan.model());
            SavedRamp kept = ramp == null ? null : ramp.under(plan);
            if (ramp != null && kept == null) {
                LOG.warn(
                        "ramp of model '{}': the saved progress ({}) is of another target or of other steps, so it starts at"
                                + " its first step",
                        plan.model(),
                        ramp.state().label());
            }
            return kept;
        }

        synchronized void close() {
            closed = true;
        }

        /** @param ramps the current progress; saved if it has changed */
        synchronized void save(Supplier<Map<String, SavedRamp>> ramps) {
            Map<String, SavedRamp> current = ramps.get();
            if (closed || current.equals(saved)) {
                return;
            }
            try {
                store.save(current);
                saved = current;
                failing = false;
            } catch (IOException e) {
                if (!failing) {
                    LOG.error(
                            "cannot save the ramp state to '{}', so a restart loses later progress; check ramps.state_file: {}",
                            store,
                            FailureReason.of(e));
                }
                failing = true;
            }
        }
    }
}

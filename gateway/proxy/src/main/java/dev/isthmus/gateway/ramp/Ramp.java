package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.settings.ModelConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Raises one target's share of calls step by step to its full share. Recording is lock-free and thread-safe; everything
 * else is guarded by this object's lock.
 */
final class Ramp implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Ramp.class);

    private final RampPlan plan;
    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final RampMeters meters;
    private final RampProgress progress = new RampProgress();
    private volatile StepFigures figures = new StepFigures();
    private RampGuard guard;
    private TargetWeights weights;

    /** The current state and step. */
    private static final class RampProgress {
        private RampState state = RampState.RUNNING;
        private int step;
        private long since;
        private String reason = "";
        /** Wall-clock time. */
        private Instant changed = Instant.EPOCH;
    }

    /** @param saved the saved progress; null to start at the first step */
    Ramp(
            RampPlan plan,
            TargetWeights weights,
            @Nullable SavedRamp saved,
            LongSupplier nanoTime,
            InstantSource clock,
            MeterRegistry registry) {
        this.plan = plan;
        this.weights = weights;
        this.nanoTime = nanoTime;
        this.clock = clock;
        this.guard = new RampGuard(plan.config());
        this.meters = new RampMeters(registry, this);
        this.progress.since = nanoTime.getAsLong();
        if (saved == null) {
            progress.changed = clock.instant();
        } else {
            progress.state = saved.state();
            progress.step = saved.step();
            progress.reason = saved.reason();
            progress.changed = saved.changed();
            LOG.atInfo()
                    .addKeyValue("model", plan.model())
                    .log(
                            "ramp of model '{}': restored as {} at step {}",
                            plan.model(),
                            saved.state(),
                            saved.step() + 1);
        }
        weights.override(plan.arm(), share());
    }

    /** The progress, for {@link RampStateStore}. */
    synchronized SavedRamp saved() {
        return new SavedRamp(
                plan.configuration(), progress.state, progress.step, share(), progress.reason, progress.changed);
    }

    RampPlan plan() {
        return plan;
    }

    synchronized RampState state() {
        return progress.state;
    }

    /** The target's current share. */
    synchronized double share() {
        return progress.state == RampState.ROLLED_BACK
                ? 0
                : plan.config().steps().get(progress.step);
    }

    /** Applies the current share to the weights of a replaced route. */
    synchronized void moveTo(TargetWeights others) {
        weights = others;
        weights.override(plan.arm(), share());
    }

    void record(String arm, boolean failed, long nanos) {
        StepFigures step = figures;
        TargetFigures targetFigures = arm.equals(plan.arm()) ? step.target() : step.others();
        targetFigures.record(failed, nanos);
    }

    void differed(double by) {
        figures.differed(by);
    }

    /** Checks the guard; advances to the next step, or rolls back. */
    synchronized void tick() {
        if (progress.state != RampState.RUNNING && progress.state != RampState.PAUSED) {
            return;
        }
        GuardBreach breach = guard.check(figures);
        if (breach != null) {
            rollBack(breach);
        } else if (progress.state == RampState.RUNNING && stepComplete()) {
            next();
        }
    }

    private boolean stepComplete() {
        ModelConfig.RampConfig config = plan.config();
        return nanoTime.getAsLong() - progress.since >= config.interval().toNanos()
                && figures.target().answered() >= config.minimumRequests();
    }

    private void next() {
        List<Double> steps = plan.config().steps();
        if (progress.step + 1 == steps.size()) {
            transition(RampState.COMPLETE);
            event(LOG.atInfo()).log("ramp of model '{}': target '{}' has its full share", plan.model(), plan.arm());
            return;
        }
        meters.stepped();
        enter(progress.step + 1);
    }

    private void transition(RampState state) {
        progress.state = state;
        progress.changed = clock.instant();
    }

    private void enter(int step) {
        progress.step = step;
        progress.changed = clock.instant();
        progress.since = nanoTime.getAsLong();
        figures = new StepFigures();
        weights.override(plan.arm(), share());
        event(LOG.atInfo()).log("ramp of model '{}': target '{}' has a share of {}", plan.model(), plan.arm(), share());
    }

    private LoggingEventBuilder event(LoggingEventBuilder event) {
        return event.addKeyValue("model", plan.model()).addKeyValue("target", plan.arm());
    }

    private void rollBack(GuardBreach breach) {
        transition(RampState.ROLLED_BACK);
        progress.reason = breach.kind().label() + ": " + breach.text();
        meters.rolledBack(breach.kind());
        event(LOG.atWarn())
                .log(
                        "ramp of model '{}': target '{}' is rolled back; POST /ramps/{}/restart begins again: {}",
                        plan.model(),
                        plan.arm(),
                        plan.model(),
                        progress.reason);
        weights.override(plan.arm(), 0);
    }

    synchronized void pause() {
        if (progress.state == RampState.RUNNING) {
            transition(RampState.PAUSED);
        }
    }

    synchronized void resume() {
        if (progress.state == RampState.PAUSED) {
            transition(RampState.RUNNING);
        }
    }

    synchronized void restart() {
        transition(RampState.RUNNING);
        progress.reason = "";
        guard = new RampGuard(plan.config());
        enter(0);
    }

    synchronized void rollBack() {
        if (progress.state != RampState.ROLLED_BACK) {
            rollBack(new GuardBreach(GuardBreach.BreachKind.REQUESTED, "by the operator"));
        }
    }

    synchronized RampReport report() {
        return new RampReport(
                plan.model(),
                plan.arm(),
                progress.state,
                share(),
                progress.step,
                plan.config().steps(),
                nanoTime.getAsLong() - progress.since,
                plan.config().interval(),
                figures.target().answered(),
                plan.config().minimumRequests(),
                figures.target().errorRate(),
                guard.figures(figures),
                progress.reason,
                progress.changed);
    }

    @Override
    public void close() {
        meters.close();
    }
}

package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.ramp.RampGuard.GuardBreach;
import dev.isthmus.gateway.ramp.StepFigures.TargetFigures;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.Units;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
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

    private volatile RampPlan plan;
    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final ReplaceableMeters meters;
    private final Counter steps;
    private final Map<GuardBreach.BreachKind, Counter> rollbacks;
    private final RampProgress progress = new RampProgress();
    private volatile StepFigures figures = new StepFigures();
    private RampGuard guard;
    private TargetWeights weights;

    private static final class RampProgress {
        private RampState state = RampState.RUNNING;
        private int step;
        private long since;
        private String reason = "";
        /** What the guard needs before the next step; empty if it needs nothing. */
        private String held = "";
        /** Wall-clock time. */
        private Instant changed = Instant.EPOCH;
        /** How often it was restarted. */
        private long round;
        /** Whether other gateways may know more, and the target gets no calls until they are asked. */
        private boolean unknown;
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
        this.meters = new ReplaceableMeters(registry);
        Tags tags = Tags.of("model", plan.model());
        this.steps = meters.add(Counter.builder("isthmus.ramp.steps")
                .description("Steps that the ramp has reached")
                .tags(tags)::register);
        this.rollbacks = LabelledCounters.of(
                GuardBreach.BreachKind.class,
                kind -> meters.add(Counter.builder("isthmus.ramp.rollbacks")
                        .description("Rollbacks of the ramp")
                        .tags(tags.and("reason", kind.label()))::register));
        show(tags);
        this.progress.since = nanoTime.getAsLong();
        if (saved == null) {
            progress.changed = clock.instant();
        } else {
            progress.state = saved.state();
            progress.step = saved.step();
            progress.reason = saved.reason();
            progress.changed = saved.changed();
            progress.round = saved.round();
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

    private void show(Tags tags) {
        meters.add(Gauge.builder("isthmus.ramp.share", this, Ramp::share)
                .description("Current share of the ramp's target, from 0 to 1")
                .tags(tags.and("arm", plan.arm()))::register);
        for (RampState state : RampState.values()) {
            meters.add(Gauge.builder("isthmus.ramp.state", this, it -> it.state() == state ? 1 : 0)
                    .description("1 for the current state of the ramp")
                    .tags(tags.and("state", state.label()))::register);
        }
    }

    /** The progress, for {@link RampStateFile}. */
    synchronized SavedRamp saved() {
        return new SavedRamp(
                plan.configuration(),
                progress.state,
                progress.step,
                share(),
                progress.reason,
                progress.changed,
                progress.round);
    }

    /** Whether the common state is not known yet. */
    synchronized boolean isUnknown() {
        return progress.unknown;
    }

    /** The target gets no calls until {@link #adopt}. */
    synchronized void awaitCommonState() {
        progress.unknown = true;
        weights.override(plan.arm(), share());
    }

    /** Takes over the state that all gateways have in common; no effect if it is that of earlier steps. */
    synchronized void adopt(SavedRamp common) {
        if (!common.configuration().equals(plan.configuration())) {
            return;
        }
        boolean rolledBackHere = progress.state == RampState.ROLLED_BACK && common.round() == progress.round;
        if (rolledBackHere && common.state() != RampState.ROLLED_BACK) {
            // Meanwhile; the others are told next time.
            return;
        }
        int step = Math.min(common.step(), plan.config().steps().size() - 1);
        boolean moved = progress.unknown || common.round() != progress.round || step != progress.step;
        RampState before = progress.state;
        progress.unknown = false;
        progress.round = common.round();
        progress.state = common.state();
        progress.reason = common.reason();
        if (moved) {
            enter(step);
        } else if (before != common.state()) {
            weights.override(plan.arm(), share());
            event(LOG.atInfo())
                    .log(
                            "ramp of model '{}': {}, as in other gateways; target '{}' has a share of {}",
                            plan.model(),
                            common.state(),
                            plan.arm(),
                            share());
        }
        progress.changed = common.changed();
    }

    RampPlan plan() {
        return plan;
    }

    synchronized RampState state() {
        return progress.state;
    }

    /** The target's current share. */
    synchronized double share() {
        return progress.state == RampState.ROLLED_BACK || progress.unknown
                ? 0
                : plan.config().steps().get(progress.step);
    }

    /** Its state and share, for operators. */
    synchronized String described() {
        return progress.state.label() + " at a share of " + Units.share(share());
    }

    /**
     * Goes on under another configuration of the same target, and applies the current share to the weights of the
     * replaced route.
     *
     * @return whether it begins again because its share is not one of the steps any more
     */
    synchronized boolean moveTo(RampPlan next, TargetWeights others) {
        SavedRamp kept = progress.unknown ? saved() : saved().under(next);
        plan = next;
        weights = others;
        guard = guard.with(next.config());
        if (kept == null) {
            if (progress.state == RampState.COMPLETE) {
                transition(RampState.RUNNING);
            }
            enter(0);
            return true;
        }
        progress.step = Math.min(kept.step(), next.config().steps().size() - 1);
        if (kept.state() != progress.state) {
            transition(kept.state());
            enter(progress.step);
        }
        weights.override(plan.arm(), share());
        return false;
    }

    void record(String arm, boolean failed, long nanos) {
        StepFigures step = figures;
        TargetFigures targetFigures = arm.equals(plan.arm()) ? step.target() : step.others();
        targetFigures.record(failed, nanos);
    }

    void differed(double by) {
        figures.differed(by);
    }

    /**
     * Checks the guard, and rolls back if it is exceeded.
     *
     * @return the state that follows, if the step is complete; null if it is not
     */
    synchronized @Nullable SavedRamp check() {
        boolean active = progress.state == RampState.RUNNING || progress.state == RampState.PAUSED;
        if (!active || progress.unknown) {
            return null;
        }
        GuardBreach breach = guard.check(figures);
        if (breach != null) {
            rollBack(breach);
            return null;
        }
        if (progress.state != RampState.RUNNING || !stepComplete()) {
            return null;
        }
        boolean last = progress.step + 1 == plan.config().steps().size();
        return last
                ? saved().with(RampState.COMPLETE, progress.step, clock.instant())
                : saved().with(RampState.RUNNING, progress.step + 1, clock.instant());
    }

    private boolean stepComplete() {
        ModelConfig.RampConfig config = plan.config();
        boolean due = nanoTime.getAsLong() - progress.since >= config.interval().toNanos()
                && figures.target().answered() >= config.minimumRequests();
        String before = progress.held;
        progress.held = due ? guard.lacking(figures, share() == 1, progress.step == 0) : "";
        if (before.isEmpty() && !progress.held.isEmpty()) {
            event(LOG.atWarn())
                    .log("ramp of model '{}': held at a share of {}: {}", plan.model(), share(), progress.held);
        }
        return due && progress.held.isEmpty();
    }

    /**
     * Advances to the next step, or to the end of the last one, unless an operator or a reload has changed the ramp since.
     *
     * @param next as {@link #check} has returned it
     */
    synchronized void advance(SavedRamp next) {
        if (!next.follows(saved())) {
            return;
        }
        if (next.state() == RampState.COMPLETE) {
            transition(RampState.COMPLETE);
            event(LOG.atInfo()).log("ramp of model '{}': target '{}' has its full share", plan.model(), plan.arm());
        } else {
            enter(next.step());
        }
    }

    private void transition(RampState state) {
        progress.state = state;
        progress.changed = clock.instant();
    }

    private void enter(int step) {
        if (step > progress.step) {
            steps.increment();
        } else if (step < progress.step) {
            guard = new RampGuard(plan.config());
        }
        progress.step = step;
        progress.changed = clock.instant();
        progress.since = nanoTime.getAsLong();
        progress.held = "";
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
        LabelledCounters.increment(rollbacks, breach.kind());
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
        progress.round++;
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
                guard.document(figures),
                progress.reason,
                progress.state == RampState.RUNNING ? progress.held : "",
                progress.changed);
    }

    @Override
    public void close() {
        meters.close();
    }
}

package dev.isthmus.gateway.ramp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A ramp of 10 %, 50 % and 100 %, each for a minute and 100 requests, with a manual clock. */
class RampsTest {
    private static final long MINUTE = Duration.ofMinutes(1).toNanos();
    private static final long MILLISECOND = Duration.ofMillis(1).toNanos();
    private static final Instant CHANGED = Instant.parse("2026-01-02T03:04:05Z");
    private static final ModelConfig.TargetConfig CANARY =
            new ModelConfig.TargetConfig("canary", "mlserver", null, "4", 10);

    private final AtomicLong now = new AtomicLong(-5);
    private final MeterRegistry registry = new SimpleMeterRegistry();
    /** All overrides of the weights. */
    private final List<Double> shares = new ArrayList<>();

    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
    /** Occupies the scheduler's only thread, so that only the test triggers checks. */
    private final CountDownLatch busy = new CountDownLatch(1);

    private Ramps ramps;
    /** Runs once, when a ramp reads the time: as if another thread had been faster. */
    private Runnable meanwhile = () -> {};

    private Instant time() {
        Runnable once = meanwhile;
        meanwhile = () -> {};
        once.run();
        return CHANGED;
    }

    @BeforeEach
    void start() {
        scheduler.execute(() -> {
            try {
                busy.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        ramps = new Ramps(registry, now::get, this::time, scheduler, new RampStateFile(null), null);
        ramps.install(Map.of(plan(0.001), weights(shares)));
        calls("stable", 250, 0, 10);
    }

    @AfterEach
    void stop() {
        ramps.close();
        assertThat(registry.getMeters()).isEmpty();
        busy.countDown();
        scheduler.close();
    }

    private static RampPlan plan(@Nullable Double maxDifference) {
        return plan(CANARY, maxDifference, 0.1, 0.5, 1.0);
    }

    private static RampPlan plan(ModelConfig.TargetConfig target, @Nullable Double maxDifference, Double... steps) {
        return new RampPlan(
                "m",
                target,
                new ModelConfig.RampConfig(
                        "canary", List.of(steps), Duration.ofMinutes(1), 100, 0.01, 1.5, maxDifference));
    }

    /** Another version, and so another target. */
    private static RampPlan ofVersion(String version) {
        return plan(new ModelConfig.TargetConfig("canary", "mlserver", null, version, 10), 0.001, 0.1, 0.5, 1.0);
    }

    private List<Double> reloaded(RampPlan plan) {
        List<Double> installed = new ArrayList<>();
        ramps.install(Map.of(plan, weights(installed)));
        return installed;
    }

    private static TargetWeights weights(List<Double> installed) {
        return (arm, share) -> {
            assertThat(arm).isEqualTo("canary");
            installed.add(share);
        };
    }

    private void calls(String arm, int answered, int failed, long millis) {
        for (int i = 0; i < answered + failed; i++) {
            ramps.record("m", arm, i < failed, millis * MILLISECOND);
        }
        if (arm.equals("canary") && answered > 0) {
            ramps.differed("m", "canary", 0);
        }
    }

    private void passes(long nanos) {
        now.addAndGet(nanos);
        ramps.tick();
    }

    private RampReport report() {
        return ramps.reports().get(0);
    }

    private double gauge(String state) {
        return registry.get("isthmus.ramp.state")
                .tags("model", "m", "state", state)
                .gauge()
                .value();
    }

    private double rollbacks(String reason) {
        return registry.get("isthmus.ramp.rollbacks")
                .tags("model", "m", "reason", reason)
                .counter()
                .count();
    }

    @Test
    void start_isTheFirstStep() {
        assertThat(shares).containsExactly(0.1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
        assertThat(registry.get("isthmus.ramp.share")
                        .tags("model", "m", "arm", "canary")
                        .gauge()
                        .value())
                .isEqualTo(0.1);
        assertThat(gauge("running")).isEqualTo(1);
    }

    @Test
    void step_needsItsTime() {
        calls("canary", 1000, 0, 10);
        passes(MINUTE - 1);
        assertThat(shares).containsExactly(0.1);
        passes(1);
        assertThat(shares).containsExactly(0.1, 0.5);
    }

    @Test
    void step_needsItsRequests_answeredByTheTarget() {
        calls("canary", 99, 0, 10);
        calls("stable", 1000, 0, 10);
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1);
        calls("canary", 1, 0, 10);
        passes(0);
        assertThat(shares).containsExactly(0.1, 0.5);
    }

    @Test
    void step_beginsAtNothing() {
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1, 0.5);
        assertThat(report().answered()).isZero();
    }

    @Test
    void lastStep_completes() {
        for (int i = 0; i < 3; i++) {
            calls("canary", 100, 0, 10);
            passes(MINUTE);
        }
        assertThat(shares).containsExactly(0.1, 0.5, 1.0);
        assertThat(report().state()).isEqualTo(RampState.COMPLETE);
        assertThat(registry.get("isthmus.ramp.steps").counter().count()).isEqualTo(2);
        assertThat(gauge("complete")).isEqualTo(1);
    }

    @Test
    void errors_moreThanMay_rollBack() {
        calls("canary", 1960, 40, 10);
        calls("stable", 742, 8, 10);
        passes(1);
        assertThat(shares).containsExactly(0.1, 0.0);
        assertThat(report().state()).isEqualTo(RampState.ROLLED_BACK);
        assertThat(report().reason())
                .isEqualTo("error_rate: 2.00 % of its calls failed, 0.80 % of those to the other targets;"
                        + " the limit is 1.00 %");
        assertThat(rollbacks("error_rate")).isEqualTo(1);
        assertThat(gauge("rolled_back")).isEqualTo(1);
    }

    @Test
    void errors_ofTooFewCalls_sayNothing() {
        calls("canary", 0, 19, 10);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
        calls("canary", 0, 1, 10);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.ROLLED_BACK);
    }

    @Test
    void errors_thatMayBeChance_hold() {
        calls("canary", 100, 3, 10);
        calls("stable", 750, 0, 10);
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1);
        assertThat(report().held())
                .isEqualTo(
                        "max_error_rate needs more calls of the target: that 2.91 % of 103 have failed may be chance");
        calls("canary", 200, 0, 10);
        passes(1);
        assertThat(shares).containsExactly(0.1, 0.5);
    }

    @Test
    void errors_asManyAsTheOthers_areNotTheTargets() {
        calls("canary", 90, 10, 10);
        calls("stable", 80, 40, 10);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void errors_ofAnEarlierStep_areForgotten() {
        calls("canary", 990, 9, 10);
        passes(MINUTE);
        calls("canary", 1000, 2, 10);
        passes(1);
        assertThat(report().step()).isEqualTo(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void latency_moreThanMay_rollsBack() {
        calls("canary", 20, 0, 40);
        calls("stable", 200, 0, 20);
        passes(1);
        assertThat(shares).containsExactly(0.1, 0.0);
        assertThat(report().reason()).startsWith("latency: ");
        assertThat(rollbacks("latency")).isEqualTo(1);
    }

    @Test
    void latency_withinTheRatio_isLetBe() {
        calls("canary", 20, 0, 25);
        calls("stable", 20, 0, 20);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void latency_ofFailedCalls_isNone() {
        calls("canary", 1000, 5, 20);
        calls("stable", 0, 1000, 1);
        calls("stable", 20, 0, 20);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void latency_withoutOthers_isComparedWithWhatTheyHad() {
        calls("canary", 100, 0, 20);
        calls("stable", 100, 0, 20);
        passes(MINUTE);
        calls("canary", 100, 0, 40);
        passes(1);
        assertThat(report().reason()).startsWith("latency: ");
    }

    /** Two targets that are alike, and one that takes twice as long: at six calls a second, a step of ten minutes. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void latency_isJudgedByMoreThanChance(long seed) {
        assertThat(judged(seed, 1)).isEqualTo(RampState.RUNNING);
        assertThat(judged(seed, 3)).isEqualTo(RampState.ROLLED_BACK);
    }

    private RampState judged(long seed, double slower) {
        ramps.restart("m");
        Random random = new Random(seed);
        for (int i = 0; i < 3600; i++) {
            boolean canary = random.nextDouble() < 0.1;
            double millis = 25 * Math.exp(0.35 * random.nextGaussian()) * (canary ? slower : 1);
            ramps.record("m", canary ? "canary" : "stable", false, (long) (millis * MILLISECOND));
            if (i % 6 == 0) {
                passes(1);
            }
        }
        return report().state();
    }

    @Test
    void latency_thatDiffersByLittle_isLetBe() {
        ramps.restart("m");
        for (int i = 0; i < 1000; i++) {
            ramps.record("m", "stable", false, MILLISECOND / 5);
            ramps.record("m", "canary", false, MILLISECOND);
        }
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void difference_thatNothingSays_holdsTheRamp() {
        for (int i = 0; i < 100; i++) {
            ramps.record("m", "canary", false, 10 * MILLISECOND);
        }
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1);
        assertThat(report().held()).startsWith("max_difference needs a comparison by the shadow 'canary'");
        ramps.differed("m", "canary", 0);
        passes(1);
        assertThat(shares).containsExactly(0.1, 0.5);
        assertThat(report().held()).isEmpty();
    }

    @Test
    void latency_thatNothingSays_holdsTheRamp() {
        ramps.restart("m");
        calls("canary", 100, 0, 10);
        calls("stable", 50, 0, 10);
        passes(MINUTE);
        assertThat(report().held())
                .isEqualTo(
                        "max_latency_ratio needs more successful calls of the other targets, for their p95; they have"
                                + " had 50");
        calls("stable", 100, 0, 10);
        passes(1);
        assertThat(report().step()).isEqualTo(1);
    }

    @Test
    void fewCalls_thatSuffice_areNoEvidence() {
        var few = new ModelConfig.RampConfig("canary", List.of(0.1, 0.5), Duration.ofMinutes(1), 10, 0.01, 1.5, null);
        reloaded(new RampPlan("m", CANARY, few));
        calls("canary", 10, 0, 10);
        passes(MINUTE);
        assertThat(report().held())
                .isEqualTo("max_latency_ratio needs 20 successful calls of the target; it has had 10");
        calls("canary", 0, 1, 10);
        passes(1);
        assertThat(report().held())
                .isEqualTo("max_error_rate needs 20 calls of the target, of which some have failed; it has had 11");
        calls("canary", 9, 0, 10);
        passes(1);
        assertThat(report().held()).startsWith("max_error_rate needs more calls of the target");
        assertThat(report().step()).isZero();
    }

    @Test
    void difference_moreThanMay_rollsBack() {
        ramps.differed("m", "canary", 0.001);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
        ramps.differed("m", "canary", 0.0011);
        ramps.differed("m", "canary", 0);
        passes(1);
        assertThat(report().reason())
                .isEqualTo("difference: its responses differ from the primary ones by 0.0011; the limit is 0.001");
        assertThat(rollbacks("difference")).isEqualTo(1);
    }

    @Test
    void difference_ofAnotherShadow_isNotTheTargets() {
        ramps.differed("m", "other", Double.POSITIVE_INFINITY);
        ramps.differed("unknown", "canary", Double.POSITIVE_INFINITY);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void difference_withoutALimit_isLetBe() {
        ramps.install(Map.of(plan(null), weights(shares)));
        ramps.differed("m", "canary", Double.POSITIVE_INFINITY);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void rolledBack_stays() {
        calls("canary", 0, 100, 10);
        passes(1);
        calls("canary", 1000, 0, 10);
        passes(MINUTE);
        ramps.pause("m");
        ramps.resume("m");
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1, 0.0);
        assertThat(rollbacks("error_rate")).isEqualTo(1);
    }

    @Test
    void restart_beginsAgain() {
        calls("canary", 0, 100, 10);
        passes(1);
        ramps.restart("m");
        assertThat(shares).containsExactly(0.1, 0.0, 0.1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
        assertThat(report().reason()).isEmpty();
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.RUNNING);
    }

    @Test
    void pause_keepsTheStep_untilResumed() {
        ramps.pause("m");
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1);
        assertThat(gauge("paused")).isEqualTo(1);
        ramps.resume("m");
        passes(0);
        assertThat(shares).containsExactly(0.1, 0.5);
    }

    @Test
    void pause_keepsTheGuard() {
        ramps.pause("m");
        calls("canary", 0, 100, 10);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.ROLLED_BACK);
    }

    @Test
    void operator_rollsBack() {
        ramps.rollBack("m");
        ramps.rollBack("m");
        assertThat(shares).containsExactly(0.1, 0.0);
        assertThat(rollbacks("requested")).isEqualTo(1);
    }

    @Test
    void reload_ofAnEqualRamp_goesOnWithItsNewWeights() {
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        calls("canary", 99, 0, 10);
        List<Double> others = new ArrayList<>();
        ramps.install(Map.of(plan(0.001), weights(others)));
        assertThat(others).containsExactly(0.5);
        calls("canary", 1, 0, 10);
        passes(MINUTE);
        assertThat(others).containsExactly(0.5, 1.0);
        assertThat(shares).containsExactly(0.1, 0.5);
        assertThat(registry.get("isthmus.ramp.steps").counter().count()).isEqualTo(2);
    }

    @Test
    void reload_keepsARollback() {
        ramps.rollBack("m");
        List<Double> others = new ArrayList<>();
        ramps.install(Map.of(plan(0.001), weights(others)));
        assertThat(others).containsExactly(0.0);
    }

    @Test
    void reload_ofAnotherTarget_beginsAgain_withMetersOfItsOwn() {
        ramps.rollBack("m");
        assertThat(reloaded(ofVersion("5"))).containsExactly(0.1);
        assertThat(gauge("running")).isEqualTo(1);
        assertThat(rollbacks("requested")).isZero();
        assertThat(ramps.interruptions())
                .containsExactly(
                        "ramp of model 'm': it begins again (running at a share of 10%, before rolled_back at a"
                                + " share of 0%), because its target is another one");
    }

    @Test
    void reload_withOtherLimits_keepsARollback_andTheProgress() {
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        calls("canary", 60, 0, 10);
        var lenient = new ModelConfig.TargetConfig("canary", "mlserver", null, "4", 20);
        var slower = new RampPlan(
                "m",
                lenient,
                new ModelConfig.RampConfig("canary", List.of(0.1, 0.5, 1.0), Duration.ofMinutes(2), 150, 0.5, 0, null));
        assertThat(reloaded(slower)).containsExactly(0.5);
        assertThat(report()).returns(60L, RampReport::answered).returns(1, RampReport::step);
        calls("canary", 90, 0, 10);
        passes(MINUTE);
        assertThat(report().step()).as("the new interval").isEqualTo(1);
        calls("canary", 0, 40, 10);
        passes(MINUTE);
        assertThat(report().step()).as("the new limit of errors").isEqualTo(2);

        ramps.rollBack("m");
        assertThat(reloaded(plan(0.5))).containsExactly(0.0);
        assertThat(report().reason()).isEqualTo("requested: by the operator");
        assertThat(ramps.interruptions()).isEmpty();
    }

    @Test
    void reload_withOtherSteps_keepsARollback_andAShareThatIsOneOfThem() {
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        assertThat(reloaded(plan(CANARY, null, 0.05, 0.1, 0.25, 0.5))).containsExactly(0.5);
        assertThat(report()).returns(3, RampReport::step).returns(RampState.RUNNING, RampReport::state);
        assertThat(ramps.interruptions()).isEmpty();
        assertThat(reloaded(plan(CANARY, null, 0.05, 0.7))).containsExactly(0.05);
        assertThat(ramps.interruptions())
                .containsExactly("ramp of model 'm': it begins again (running at a share of 5%, before running at a"
                        + " share of 50%), because its share is not one of the steps any more");
        ramps.rollBack("m");
        assertThat(reloaded(plan(CANARY, null, 1.0))).containsExactly(0.0);
        assertThat(ramps.interruptions()).isEmpty();
        ramps.restart("m");
        assertThat(report().share()).isEqualTo(1);
    }

    @Test
    void reload_withMoreSteps_goesOnAfterTheLast() {
        reloaded(plan(CANARY, null, 0.1));
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        assertThat(report().state()).isEqualTo(RampState.COMPLETE);
        assertThat(reloaded(plan(CANARY, null, 0.1, 0.5))).endsWith(0.1);
        assertThat(report()).returns(RampState.RUNNING, RampReport::state).returns(0L, RampReport::answered);
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        assertThat(report().share()).isEqualTo(0.5);
    }

    @Test
    void reload_withoutIt_isNamed() {
        ramps.rollBack("m");
        ramps.install(Map.of());
        assertThat(ramps.interruptions())
                .containsExactly("ramp of model 'm': it ends (rolled_back at a share of 0%); its target gets its"
                        + " configured weight");
    }

    @Test
    void reload_withoutIt_endsIt_andItsMeters() {
        ramps.install(Map.of());
        calls("canary", 0, 100, 10);
        passes(1);
        assertThat(ramps.reports()).isEmpty();
        assertThat(registry.getMeters()).isEmpty();
        assertThat(shares).containsExactly(0.1);
    }

    /** Another process with the same configuration. */
    private List<Double> restarted(RampStateFile store, RampPlan plan, Consumer<Ramps> then) {
        List<Double> installed = new ArrayList<>();
        try (Ramps next = new Ramps(new SimpleMeterRegistry(), now::get, () -> CHANGED, scheduler, store, null)) {
            next.install(Map.of(plan, weights(installed)));
            then.accept(next);
        }
        return installed;
    }

    @Test
    void restart_goesOnAtTheSameStep(@TempDir Path folder) {
        RampStateFile file = new RampStateFile(folder.resolve("ramps.json"));
        restarted(file, plan(0.001), first -> {
            for (int i = 0; i < 200; i++) {
                first.record("m", "canary", false, MILLISECOND);
                first.record("m", "stable", false, MILLISECOND);
            }
            first.differed("m", "canary", 0);
            now.addAndGet(MINUTE);
            first.tick();
        });
        assertThat(restarted(file, plan(0.001), next -> {})).containsExactly(0.5);
        assertThat(restarted(file, plan(0.001), next -> next.pause("m"))).containsExactly(0.5);
        restarted(
                file,
                plan(0.001),
                next -> assertThat(next.reports())
                        .singleElement()
                        .returns(RampState.PAUSED, RampReport::state)
                        .returns(CHANGED, RampReport::changed));
    }

    @Test
    void restart_keepsARollback_untilSomeoneRestartsTheRamp(@TempDir Path folder) {
        RampStateFile file = new RampStateFile(folder.resolve("ramps.json"));
        assertThat(restarted(file, plan(0.001), first -> first.rollBack("m"))).containsExactly(0.1, 0.0);
        assertThat(restarted(file, plan(0.001), next -> {
                    assertThat(next.reports())
                            .singleElement()
                            .returns(RampState.ROLLED_BACK, RampReport::state)
                            .returns("requested: by the operator", RampReport::reason);
                    next.restart("m");
                }))
                .containsExactly(0.0, 0.1);
        assertThat(restarted(file, plan(0.001), next -> {})).containsExactly(0.1);
    }

    @Test
    void restart_withAnotherRamp_beginsAgain(@TempDir Path folder) {
        RampStateFile file = new RampStateFile(folder.resolve("ramps.json"));
        restarted(file, plan(0.001), first -> first.rollBack("m"));
        assertThat(restarted(file, plan(0.5), next -> {})).as("another limit").containsExactly(0.0);
        assertThat(restarted(file, ofVersion("5"), next -> {})).containsExactly(0.1);
    }

    @Test
    void stateOfAnEarlierRelease_isRead(@TempDir Path folder) throws Exception {
        Path state = folder.resolve("ramps.json");
        Files.writeString(state, """
                {"ramps": {"m": {"state": "rolled_back", "step": 2, "share": 0.0, "reason": "errors",
                  "changed": "2026-01-02T03:04:05Z",
                  "configuration": "target=canary upstream=mlserver model= version=4 weight=10 steps=[0.1, 0.5, 1.0] \
                interval=PT1M minimum_requests=100 max_error_rate=0.01 max_latency_ratio=1.5 max_difference=null"}}}
                """);
        assertThat(restarted(new RampStateFile(state), plan(0.001), next -> {})).containsExactly(0.0);
    }

    @Test
    void stateThatCannotBeRead_isSetAside_andRampsBegin(@TempDir Path folder) throws Exception {
        Path state = folder.resolve("ramps.json");
        for (String text : List.of("", "{", "[]", "{\"ramps\": []}", "{\"ramps\": {\"m\": {\"state\": \"odd\"}}}")) {
            Files.writeString(state, text);
            assertThat(restarted(new RampStateFile(state), plan(0.001), next -> {}))
                    .as(text)
                    .containsExactly(0.1);
            assertThat(folder.resolve("ramps.json.unreadable")).hasContent(text);
        }
    }

    @Test
    void stateThatCannotBeKept_doesNotEndTheRamp(@TempDir Path folder) {
        RampStateFile file = new RampStateFile(folder.resolve("missing").resolve("ramps.json"));
        assertThat(restarted(file, plan(0.001), first -> first.rollBack("m"))).containsExactly(0.1, 0.0);
    }

    @Test
    void weightsThatFail_doNotEndTheTicks() {
        TargetWeights broken = (arm, share) -> {
            if (share != 0.1) {
                throw new IllegalStateException("broken");
            }
        };
        ramps.install(Map.of(plan(0.7), broken));
        calls("canary", 0, 100, 10);
        passes(1);
        assertThat(report().state()).isEqualTo(RampState.ROLLED_BACK);
    }

    @Test
    void scheduler_looksAfterThem() {
        calls("canary", 0, 100, 10);
        busy.countDown();
        await().atMost(Duration.ofSeconds(20)).until(() -> report().state() == RampState.ROLLED_BACK);
    }

    @Test
    void unknownModel_isNotFound() {
        assertThatThrownBy(() -> ramps.pause("other"))
                .isInstanceOf(OipException.class)
                .hasMessage("model 'other' has no ramp");
    }

    @Test
    void document_saysHowItStands() {
        calls("canary", 3, 1, 10);
        now.addAndGet(MINUTE);
        assertThat(ramps.document())
                .hasToString("[{\"model\":\"m\",\"target\":\"canary\",\"state\":\"running\",\"share\":0.1,\"step\":1,"
                        + "\"steps\":[0.1,0.5,1.0],\"step_seconds\":60,\"interval_seconds\":60,\"step_answered\":3,"
                        + "\"minimum_requests\":100,\"step_error_rate\":0.25,"
                        + "\"reason\":\"\",\"held\":\"\",\"changed\":\"2026-01-02T03:04:05Z\","
                        + "\"guard\":{\"calls\":4,\"minimum_calls\":20,"
                        + "\"error_rate\":{\"target\":0.25,\"others\":0.0,\"limit\":0.01},"
                        + "\"p95_seconds\":{\"target\":0.010485759,\"others\":0.010485759,\"limit_ratio\":1.5},"
                        + "\"difference\":{\"target\":0.0,\"limit\":0.001}}}]");
    }

    @ParameterizedTest
    @EnumSource(
            value = ErrorCode.class,
            names = {"UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN", "BAD_UPSTREAM_ANSWER"})
    void failuresOfServers_count(ErrorCode code) {
        assertThat(Ramps.counts(code)).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = ErrorCode.class,
            names = {"INVALID_ARGUMENT", "NOT_FOUND", "CANCELLED", "RESOURCE_EXHAUSTED", "PAYLOAD_TOO_LARGE"})
    void failuresOfClients_doNot(ErrorCode code) {
        assertThat(Ramps.counts(code)).isFalse();
    }

    @Test
    void rollback_whileTheLastStepEnds_stays() {
        for (int i = 0; i < 2; i++) {
            calls("canary", 100, 0, 10);
            passes(MINUTE);
        }
        calls("canary", 100, 0, 10);
        meanwhile = () -> ramps.rollBack("m");
        passes(MINUTE);
        assertThat(report()).returns(RampState.ROLLED_BACK, RampReport::state).returns(0.0, RampReport::share);
    }

    @Test
    void restart_whileAStepEnds_isAtTheFirstOne() {
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        calls("canary", 100, 0, 10);
        meanwhile = () -> ramps.restart("m");
        passes(MINUTE);
        assertThat(shares).containsExactly(0.1, 0.5, 0.1);
    }

    /** What gateways have in common, as Redis keeps it. */
    private static final class CommonState implements SharedRamps {
        private @Nullable SavedRamp common;

        @Override
        public SavedRamp exchange(String model, SavedRamp mine, RampCommand command, SavedRamp wanted) {
            SavedRamp before = common == null ? mine : common;
            SavedRamp next = switch (command) {
                case MERGE, PAUSE, RESUME -> before;
                case ADVANCE ->
                    before.round() == mine.round() && before.step() == mine.step()
                            ? before.with(wanted.state(), wanted.step(), wanted.changed())
                            : before;
                case RESTART ->
                    new SavedRamp(
                            before.configuration(),
                            RampState.RUNNING,
                            0,
                            before.share(),
                            "",
                            wanted.changed(),
                            before.round() + 1);
            };
            common = next;
            return next;
        }
    }

    @Test
    void restart_whileASharedStepEnds_isAtTheFirstOne() {
        List<Double> installed = new ArrayList<>();
        ramps.close();
        ramps = new Ramps(registry, now::get, this::time, scheduler, new RampStateFile(null), new CommonState());
        ramps.install(Map.of(plan(0.001), weights(installed)));
        calls("stable", 250, 0, 10);
        calls("canary", 100, 0, 10);
        passes(MINUTE);
        calls("canary", 100, 0, 10);
        meanwhile = () -> ramps.restart("m");
        passes(MINUTE);
        assertThat(installed).endsWith(0.5, 0.1);
        assertThat(report().step()).isZero();
    }
}

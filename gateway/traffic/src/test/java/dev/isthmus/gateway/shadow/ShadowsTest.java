package dev.isthmus.gateway.shadow;

import static dev.isthmus.gateway.shadow.ShadowStage.SHADOW;
import static dev.isthmus.gateway.shadow.ShadowStage.floats;
import static dev.isthmus.gateway.shadow.ShadowStage.respond;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.shadow.Shadows.ShadowCopies;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which calls are copied, and how their copies end. */
class ShadowsTest {
    private ShadowStage stage = new ShadowStage();

    @AfterEach
    void stop() {
        stage.close();
    }

    private void restart(ModelConfig.ShadowConfig config, ShadowLimits limits) {
        stage.close();
        stage = new ShadowStage(config, limits);
    }

    private static ModelConfig.ShadowConfig shadow(double sample, boolean compare, int maxInFlight) {
        return new ModelConfig.ShadowConfig(
                null, "next", null, null, sample, compare, 0, 0, Duration.ofSeconds(5), maxInFlight);
    }

    @Test
    void copy_isSentWhenTheLoopComesToIt() {
        stage.begin();
        assertThat(stage.upstream.requests).isEmpty();
        assertThat(stage.released).isZero();
        stage.runLoop();
        assertThat(stage.upstream.only().model).isEqualTo(new ModelRef("m2", "7"));
        assertThat(stage.released).isEqualTo(1);
    }

    @Test
    void copy_hasATimeoutOfItsOwn_andAMark() {
        stage.now.set(1000);
        stage.sent();
        Call call = stage.upstream.only().call;
        assertThat(call.deadlineNanos()).isEqualTo(1000 + Duration.ofSeconds(5).toNanos());
        assertThat(call.headers()).isEqualTo(Map.of("x-a", "b", "isthmus-shadow", "true"));
        assertThat(call.affinity()).isEqualTo(17);
    }

    @Test
    void copy_hasTheRequestId_ifTheCallSendsIt() {
        Call call = stage.call(stage.channel.eventLoop());
        call.context().identified(AsciiString.of("r-2"), true);
        stage.shadows.begin(call, ModelRef.of("m"), main("m", ""), stage.source());
        stage.runLoop();
        assertThat(String.valueOf(stage.upstream.only().call.context().sentId()))
                .isEqualTo("r-2");
    }

    @Test
    void copy_isMadeWithoutSharedMemory() {
        stage.sent();
        assertThat(requireNonNull(stage.preparedFor).sharedMemory()).isFalse();
    }

    @Test
    void noShadows_releaseTheRequest() {
        ShadowCopies observation = stage.shadows()
                .begin(stage.call(stage.channel.eventLoop()), ModelRef.of("m"), main("m", ""), stage.source());
        assertThat(observation).isSameAs(ShadowCopies.NONE);
        assertThat(stage.released).isEqualTo(1);
    }

    private Target main(String model, String version) {
        return new Target(stage.upstream, new ModelRef(model, version), "main");
    }

    @Test
    void callThatWentToTheShadowsOwnPlace_isNotCopied() {
        stage.begin(main("m2", "7")).ended();
        stage.runLoop();
        assertThat(stage.upstream.requests).isEmpty();
        assertThat(stage.requests("left_out", "same_target")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
    }

    @Test
    void callThatWentToAnotherVersion_isCopied() {
        stage.begin(main("m2", "6"));
        stage.runLoop();
        assertThat(stage.upstream.requests).hasSize(1);
    }

    @Test
    void sample_isTheShareThatIsCopied() {
        restart(shadow(0.25, false, 10_000), ShadowLimits.DEFAULT);
        for (int i = 0; i < 10_000; i++) {
            stage.sent();
        }
        assertThat(stage.upstream.requests).hasSizeBetween(2_350, 2_650);
        assertThat(stage.released).isEqualTo(10_000);
    }

    @Test
    void sampleOfNothing_copiesNothing() {
        restart(shadow(0, false, 1), ShadowLimits.DEFAULT);
        stage.sent();
        assertThat(stage.upstream.requests).isEmpty();
    }

    @Test
    void response_isCounted_withItsLatency() {
        ShadowCopies observation = stage.sent();
        stage.now.addAndGet(TimeUnit.MILLISECONDS.toNanos(30));
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        observation.ended();
        assertThat(stage.requests("answered", "none")).isEqualTo(1);
        assertThat(stage.registry.get("isthmus.shadow.latency").timer().totalTime(TimeUnit.MILLISECONDS))
                .isEqualTo(30);
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void response_thatIsNotCompared_isReleasedAtOnce() {
        restart(shadow(1, false, 1), ShadowLimits.DEFAULT);
        ShadowCopies observation = stage.sent();
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        assertThat(stage.runtime.held().reserved()).isZero();
        stage.sent();
        assertThat(stage.upstream.requests).hasSize(2);
        respond(observation, floats("a", 1));
        assertThat(stage.comparisons("equal") + stage.comparisons("different")).isZero();
    }

    @Test
    void failure_isCounted() {
        ShadowCopies observation = stage.sent();
        stage.upstream.only().reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        respond(observation, floats("a", 1));
        assertThat(stage.requests("failed", "none")).isEqualTo(1);
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void failure_afterTheMainResponse_releasesIt() {
        respond(stage.sent(), floats("a", 1));
        assertThat(stage.runtime.held().reserved()).isGreaterThan(100);
        stage.upstream.only().reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void deadline_isCountedAsTimeout() {
        stage.sent();
        stage.upstream.only().reply.fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "late"));
        assertThat(stage.requests("timeout", "none")).isEqualTo(1);
    }

    @Test
    void upstreamThatThrows_isAFailure_andNothingElse() {
        stage.upstream.broken = true;
        ShadowCopies observation = stage.sent();
        respond(observation, floats("a", 1));
        assertThat(stage.requests("failed", "none")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void copiesWithoutMemory_areDropped() {
        for (int i = 1; i <= 3; i++) {
            stage.memory.failAfter(0);
            stage.sent();
            assertThat(stage.requests("dropped", "memory")).isEqualTo(i);
            assertThat(stage.released).isEqualTo(i);
        }
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void replyAfterItsEnd_isReleasedUncounted() {
        stage.sent();
        var reply = stage.upstream.only().reply;
        reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        reply.only(new ReplyMessage.Inference(floats("a", 1)));
        assertThat(stage.requests("answered", "none")).isZero();
        assertThat(stage.requests("failed", "none")).isEqualTo(1);
    }

    @Test
    void moreThanMayBeUnderWay_areDropped() {
        stage.sent();
        stage.sent();
        stage.sent();
        assertThat(stage.upstream.requests).hasSize(2);
        assertThat(stage.requests("dropped", "busy")).isEqualTo(1);
        stage.upstream.requests.get(0).reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        stage.sent();
        assertThat(stage.upstream.requests).hasSize(3);
    }

    @Test
    void moreBytesThanMayBeHeld_areDropped() {
        restart(SHADOW, new ShadowLimits(150, 1000, 1));
        stage.sent();
        stage.sent();
        assertThat(stage.upstream.requests).hasSize(1);
        assertThat(stage.requests("dropped", "memory")).isEqualTo(1);
        stage.upstream.only().reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        stage.sent();
        assertThat(stage.upstream.requests).hasSize(2);
    }

    @Test
    void stream_isLeftOut() {
        stage.stream = true;
        stage.sent();
        assertThat(stage.upstream.requests).isEmpty();
        assertThat(stage.requests("left_out", "stream")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
    }

    @Test
    void sequence_isLeftOut() {
        stage.sequence = true;
        stage.sent();
        assertThat(stage.upstream.requests).isEmpty();
        assertThat(stage.requests("left_out", "sequence")).isEqualTo(1);
    }

    @Test
    void whatTheShadowCannotBeSent_isLeftOut() {
        stage.unsendable = OipException.invalid("shared memory is not taken");
        stage.sent();
        assertThat(stage.requests("left_out", "unsendable")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void mainThatEndsBeforeTheCopyIsSent_keepsItFromBeing() {
        stage.begin().ended();
        stage.runLoop();
        assertThat(stage.upstream.requests).isEmpty();
        assertThat(stage.requests("dropped", "main_ended")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
    }

    @Test
    void mainThatEndsWhileTheCopyRuns_letsItRun() {
        stage.sent().ended();
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        assertThat(stage.requests("answered", "none")).isEqualTo(1);
        assertThat(stage.runtime.held().reserved()).isZero();
    }

    @Test
    void loopThatIsGone_dropsTheCopy() {
        EventLoop closed = new DefaultEventLoop();
        closed.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
        Call call = stage.call(closed);
        assertThat(stage.shadows.begin(call, ModelRef.of("m"), main("m", ""), stage.source()))
                .isSameAs(ShadowCopies.NONE);
        assertThat(stage.requests("dropped", "closed")).isEqualTo(1);
        assertThat(stage.released).isEqualTo(1);
    }

    @Test
    void figures_outliveAConfigurationThatAnotherFollows() {
        stage.sent();
        Shadows next = stage.shadows(SHADOW);
        stage.shadows.close();
        assertThat(stage.runtime.reports()).hasSize(1);
        stage.upstream.only().reply.fail(new OipException(ErrorCode.UNAVAILABLE, "gone"));
        assertThat(stage.requests("failed", "none")).isEqualTo(1);
        next.close();
        assertThat(stage.runtime.reports()).isEmpty();
        assertThat(stage.registry.getMeters()).isEmpty();
    }
}

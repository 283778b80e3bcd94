package dev.isthmus.gateway.shadow;

import static dev.isthmus.gateway.shadow.ShadowStage.SHADOW;
import static dev.isthmus.gateway.shadow.ShadowStage.bools;
import static dev.isthmus.gateway.shadow.ShadowStage.floats;
import static dev.isthmus.gateway.shadow.ShadowStage.garbage;
import static dev.isthmus.gateway.shadow.ShadowStage.json;
import static dev.isthmus.gateway.shadow.ShadowStage.respond;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.shadow.Shadows.ShadowCopies;
import dev.isthmus.transcoder.InferMessage;
import io.micrometer.core.instrument.DistributionSummary;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The results of comparing shadow responses. */
class ResponsesComparedTest {
    private ShadowStage stage = new ShadowStage();

    @AfterEach
    void stop() {
        stage.close();
    }

    private void compare(InferMessage main, InferMessage shadow) {
        ShadowCopies observation = stage.sent();
        respond(observation, main);
        stage.upstream.requests.remove(0).reply.only(new ReplyMessage.Inference(shadow));
    }

    private DistributionSummary summary(String meter, String output) {
        return requireNonNull(stage.output(meter, output).summary());
    }

    @Test
    void equalResponses_areEqual() {
        compare(floats("a", 1, 2, 3), floats("a", 1, 2, 3));
        stage.awaitComparison("equal");
        assertThat(summary("max.difference", "a").max()).isZero();
        assertThat(summary("cosine", "a").max()).isEqualTo(1);
        assertThat(summary("argmax.agreement", "a").max()).isEqualTo(1);
        assertThat(stage.differences).containsExactly(0.0);
        assertThat(stage.runtime.reports().get(0).lastMismatch()).isEmpty();
    }

    @Test
    void numbers_areMeasured() {
        compare(floats("a", 3, 4), floats("a", 4, 3));
        stage.awaitComparison("different");
        assertThat(summary("max.difference", "a").max()).isEqualTo(1);
        assertThat(summary("cosine", "a").max()).isCloseTo(0.96, within(1e-9));
        assertThat(summary("argmax.agreement", "a").max()).isZero();
        assertThat(stage.differences).containsExactly(1.0);
    }

    @Test
    void floats_withinTheTolerance_areEqual_andMeasuredAllTheSame() {
        stage.close();
        stage = new ShadowStage(TestConfigs.with(SHADOW, Map.of("atol", 0.003, "rtol", 0.0)), ShadowLimits.DEFAULT);
        compare(floats("a", 1, 2), floats("a", 1.0025f, 2));
        stage.awaitComparison("equal");
        assertThat(stage.runtime.reports().get(0).lastMismatch()).isEmpty();
        assertThat(stage.differences)
                .singleElement()
                .satisfies(by -> assertThat(by).isCloseTo(0.0025, within(1e-6)));
        compare(floats("a", 1, 2), floats("a", 1, 2.0035f));
        stage.awaitComparison("different");
    }

    @Test
    void floats_withinTheRelativeTolerance_areEqual() {
        stage.close();
        stage = new ShadowStage(TestConfigs.with(SHADOW, Map.of("atol", 0.0, "rtol", 0.01)), ShadowLimits.DEFAULT);
        compare(floats("a", 1000, 2), floats("a", 1009, 2));
        stage.awaitComparison("equal");
        compare(floats("a", 1000, 2), floats("a", 1000, 2.1f));
        stage.awaitComparison("different");
    }

    @Test
    void responses_ofTwoWires_areCompared() {
        compare(json("a", "1,2.5", 2), floats("a", 1, 2));
        stage.awaitComparison("different");
        assertThat(summary("max.difference", "a").max()).isEqualTo(0.5);
        compareAgain();
    }

    private void compareAgain() {
        compare(floats("a", 1, 2), json("a", "1,2", 2));
        stage.awaitComparison("equal");
    }

    @Test
    void shadowThatIsFirst_waitsForTheMainResponse() {
        ShadowCopies observation = stage.sent();
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        assertThat(stage.runtime.held().reserved()).isPositive();
        respond(observation, floats("a", 1));
        stage.awaitComparison("equal");
    }

    @Test
    void shadowThatIsFirst_isReleasedWhenTheMainCallFails() {
        ShadowCopies observation = stage.sent();
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        observation.ended();
        assertThat(stage.runtime.held().reserved()).isZero();
        assertThat(stage.requests("answered", "none")).isEqualTo(1);
    }

    @Test
    void endAfterTheMainResponse_changesNothing() {
        ShadowCopies observation = stage.sent();
        respond(observation, floats("a", 1));
        observation.ended();
        stage.upstream.only().reply.only(new ReplyMessage.Inference(floats("a", 1)));
        stage.awaitComparison("equal");
    }

    @Test
    void elements_areMeasuredByTheirShare() {
        compare(bools(1, 0, 1, 0), bools(1, 1, 1, 0));
        stage.awaitComparison("different");
        assertThat(summary("equal.share", "flags").max()).isEqualTo(0.75);
        assertThat(stage.differences).containsExactly(0.0);
        assertThat(stage.runtime.reports().get(0).lastMismatch()).startsWith("output 'flags': difference");
    }

    @Test
    void otherShape_isAMismatch() {
        compare(floats("a", 1, 2), floats("a", 1));
        stage.awaitComparison("different");
        assertThat(stage.mismatches("shape")).isEqualTo(1);
        assertThat(stage.differences).containsExactly(Double.POSITIVE_INFINITY);
        assertThat(stage.runtime.reports().get(0).lastMismatch()).isEqualTo("output 'a': shape, 0 s ago");
        assertThat(stage.runtime.reports().get(0).examples())
                .singleElement()
                .satisfies(each -> assertThat(each.requestId()).isEqualTo("r-1"));
    }

    @Test
    void otherOutput_isAMismatchOfBoth() {
        compare(floats("a", 1), floats("b", 1));
        stage.awaitComparison("different");
        assertThat(stage.mismatches("not_in_first")).isEqualTo(1);
        assertThat(stage.mismatches("not_in_second")).isEqualTo(1);
    }

    @Test
    void nan_isAMismatch_andNoFigure() {
        compare(floats("a", 1), floats("a", Float.NaN));
        stage.awaitComparison("different");
        assertThat(stage.mismatches("not_finite")).isEqualTo(1);
        assertThat(stage.output("max.difference", "a").summary()).isNull();
        assertThat(stage.differences).containsExactly(Double.POSITIVE_INFINITY);
    }

    @Test
    void shadowsResponse_thatCannotBeRead_isAMismatch() {
        compare(floats("a", 1), garbage());
        stage.awaitComparison("different");
        assertThat(stage.mismatches("unreadable")).isEqualTo(1);
        assertThat(stage.differences).containsExactly(Double.POSITIVE_INFINITY);
    }

    @Test
    void mainResponse_thatCannotBeRead_isLeftOut() {
        compare(garbage(), floats("a", 1));
        stage.awaitComparison("left_out");
        assertThat(stage.differences).isEmpty();
    }

    /** Says nothing about the shadow. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void responses_withoutTheMemoryToReadThem_areDropped(boolean mainInJson) {
        InferMessage main = mainInJson ? json("a", "1", 1) : floats("a", 1);
        InferMessage copied = json("a", "1", 1);
        ShadowCopies observation = stage.sent();
        stage.memory.failAfter(0);
        respond(observation, main);
        stage.upstream.requests.remove(0).reply.only(new ReplyMessage.Inference(copied));
        stage.awaitComparison("dropped");
        assertThat(((InferMessage.RestMessage) copied).body().content().refCnt())
                .isZero();
        assertThat(stage.differences).isEmpty();
        assertThat(stage.memory.held()).isZero();
    }

    @Test
    void responseThatIsTooLarge_isLeftOut() {
        stage.close();
        stage = new ShadowStage(SHADOW, new ShadowLimits(10_000, 100, 10));
        compare(floats("a", new float[50]), floats("a", 1));
        stage.awaitComparison("left_out");
        assertThat(stage.requests("answered", "none")).isEqualTo(1);
    }

    @Test
    void shadowsResponseThatIsTooLarge_isLeftOut() {
        stage.close();
        stage = new ShadowStage(SHADOW, new ShadowLimits(10_000, 100, 10));
        compare(floats("a", 1), floats("a", new float[50]));
        stage.awaitComparison("left_out");
        assertThat(stage.requests("answered", "none")).isEqualTo(1);
    }

    @Test
    void responsesBeyondTheBytesHeld_areDropped() {
        stage.close();
        stage = new ShadowStage(SHADOW, new ShadowLimits(130, 1000, 10));
        compare(floats("a", new float[50]), floats("a", 1));
        stage.awaitComparison("dropped");
    }

    @Test
    void outputs_beyondTheirBound_areOther() {
        for (int i = 0; i < 33; i++) {
            compare(floats("o" + i, 1), floats("o" + i, 1));
            int done = i + 1;
            await().atMost(Duration.ofSeconds(20)).until(() -> stage.comparisons("equal") == done);
        }
        assertThat(stage.output("cosine", "o31").summary()).isNotNull();
        assertThat(stage.output("cosine", "o32").summary()).isNull();
        assertThat(summary("cosine", "other").count()).isEqualTo(1);
    }

    @Test
    void afterTheEnd_responsesAreDropped() {
        stage.runtime.close();
        compare(floats("a", 1), floats("a", 1));
        stage.awaitComparison("dropped");
    }

    @Test
    void worstDifference_isOfTheLastMinutes() {
        compare(floats("a", 1), floats("a", 3));
        stage.awaitComparison("different");
        stage.now.addAndGet(Duration.ofMinutes(4).toNanos());
        assertThat(stage.runtime.reports().get(0).worstDifference()).isEqualTo(2);
        stage.now.addAndGet(Duration.ofMinutes(2).toNanos());
        assertThat(stage.runtime.reports().get(0).worstDifference()).isZero();
    }

    @Test
    void document_saysHowItStands() {
        compare(floats("a", 1), floats("a", 3));
        stage.awaitComparison("different");
        assertThat(stage.runtime.document())
                .hasToString("[{\"model\":\"m\",\"shadow\":\"next\",\"requests\":{\"answered\":1,\"dropped\":0,"
                        + "\"failed\":0,\"left_out\":0,\"timeout\":0},\"comparisons\":{\"different\":1,\"dropped\":0,"
                        + "\"equal\":0,\"left_out\":0},\"worst_difference\":2.0,"
                        + "\"last_mismatch\":\"output 'a': difference 2.0, 0 s ago\","
                        + "\"outputs\":[{\"output\":\"a\",\"compared\":1,\"worst_difference\":2.0,\"mean_cosine\":1.0,"
                        + "\"mean_argmax_agreement\":1.0,\"distribution\":[{\"at_most\":0.0,\"count\":0},"
                        + "{\"at_most\":1.0E-6,\"count\":0},{\"at_most\":1.0E-5,\"count\":0},"
                        + "{\"at_most\":1.0E-4,\"count\":0},{\"at_most\":0.001,\"count\":0},"
                        + "{\"at_most\":0.01,\"count\":0},{\"at_most\":0.1,\"count\":0},{\"at_most\":1.0,\"count\":0},"
                        + "{\"at_most\":10.0,\"count\":1},{\"at_most\":100.0,\"count\":0},"
                        + "{\"at_most\":1000.0,\"count\":0},{\"at_most\":\"infinite\",\"count\":0}]}],"
                        + "\"examples\":[{\"output\":\"a\",\"reason\":\"difference\",\"request_id\":\"r-1\",\"seconds_ago\":0,"
                        + "\"difference\":2.0}]}]");
    }
}

package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.catalogue.FanOutResult.ServerOutcome;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class FanOutResultTest {
    private final OipException unreachable =
            new OipException(ErrorCode.UNAVAILABLE, "upstream 'triton' is not reachable");
    /** The message of Triton and MLServer. */
    private final OipException notPolled =
            new OipException(ErrorCode.INTERNAL, "failed to load 'nope', failed to poll from model repository");

    private final OipException notFound = new OipException(ErrorCode.NOT_FOUND, "Model nope not found");

    @Test
    void everyServerDone_isNoFailure() {
        assertThat(load(done("triton", "a:1"), done("triton", "b:2"), done("mlserver", "c:3")))
                .isNull();
    }

    @Test
    void onlyServerFailed_itsFailureIsGivenAsItIs() {
        assertThat(load(failed("triton", "a:1", notPolled))).isSameAs(notPolled);
    }

    @Test
    void oneReplicaFailed_saysWhichUpstreamsDidIt() {
        OipException failure = load(
                done("triton", "10.0.0.1:8001"),
                failed("triton", "10.0.0.2:8001", unreachable),
                done("triton", "10.0.0.3:8001"),
                done("mlserver", "10.0.0.4:8001"));

        assertThat(failure)
                .hasMessage("load of model 'm': done by 'triton' (2 of 3), 'mlserver'; "
                        + "failed on 'triton' (1 of 3): upstream 'triton' is not reachable")
                .extracting(OipException::code)
                .isEqualTo(ErrorCode.UNAVAILABLE);
    }

    @Test
    void everyServerFailed_hasTheWorstCodeAndEachReasonOnce() {
        OipException failure = load(
                failed("mlserver", "1", notFound),
                failed("triton", "1", notPolled),
                failed("triton", "2", notPolled),
                failed("triton", "3", unreachable));

        assertThat(failure)
                .hasMessage("load of model 'm': failed on 'mlserver': Model nope not found; "
                        + "'triton' (3 of 3): failed to load 'nope', failed to poll from model repository; "
                        + "upstream 'triton' is not reachable")
                .extracting(OipException::code)
                .isEqualTo(ErrorCode.INTERNAL);
    }

    @Test
    void labels_areNeverReported() {
        assertThat(load(done("triton", "10.0.0.1:8001"), failed("triton", "10.0.0.2:8001", unreachable)))
                .message()
                .doesNotContain("10.0.0");
    }

    @Test
    void text_isBounded() {
        ServerOutcome[] outcomes = new ServerOutcome[100];
        Arrays.setAll(
                outcomes, i -> failed("upstream" + i, "1", new OipException(ErrorCode.INTERNAL, "x".repeat(10_000))));

        assertThat(load(outcomes)).message().hasSize(2_048).endsWith("...");
    }

    @ParameterizedTest
    @CsvSource({
        "INTERNAL,UNAVAILABLE",
        "BAD_UPSTREAM_ANSWER,DEADLINE_EXCEEDED",
        "DEADLINE_EXCEEDED,UNAVAILABLE",
        "UNAVAILABLE,RESOURCE_EXHAUSTED",
        "UNAVAILABLE,NOT_FOUND",
        "RESOURCE_EXHAUSTED,ABORTED",
        "UNIMPLEMENTED,PERMISSION_DENIED",
        "PERMISSION_DENIED,INVALID_ARGUMENT",
        "FAILED_PRECONDITION,INVALID_ARGUMENT",
        "INVALID_ARGUMENT,NOT_FOUND"
    })
    void worst_ofTwo(ErrorCode worse, ErrorCode better) {
        assertThat(load(failure(better), failure(worse)))
                .extracting(OipException::code)
                .isEqualTo(worse);
        assertThat(load(failure(worse), failure(better)))
                .extracting(OipException::code)
                .isEqualTo(worse);
    }

    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void worst_ofEqualOnes_isThatCode(ErrorCode code) {
        assertThat(load(failure(code), failure(code)))
                .extracting(OipException::code)
                .isEqualTo(code);
    }

    private static @Nullable OipException load(ServerOutcome... outcomes) {
        return new FanOutResult("load of model 'm'", List.of(outcomes))
                .failure()
                .orElse(null);
    }

    private static ServerOutcome done(String upstream, String label) {
        return new ServerOutcome(new ServerId(upstream, label), null);
    }

    private static ServerOutcome failed(String upstream, String label, OipException failure) {
        return new ServerOutcome(new ServerId(upstream, label), failure);
    }

    private static ServerOutcome failure(ErrorCode code) {
        return failed("triton", "1", new OipException(code, "so"));
    }
}

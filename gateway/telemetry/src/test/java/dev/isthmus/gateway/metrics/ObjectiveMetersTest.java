package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ObjectivesConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which calls meet or miss the objectives of their route. */
class ObjectiveMetersTest {
    private static final Duration WITHIN = Duration.ofMillis(100);
    private static final ObjectivesConfig BOTH = new ObjectivesConfig(0.999, 0.99, WITHIN);
    private static final Operation INFER =
            new Operation.Infer(ModelRef.of("m"), new BodyForm.RestForm(-1, -1, null), false);

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final CallMetrics metrics = new CallMetrics(registry);
    private final EmbeddedChannel channel = new EmbeddedChannel();

    ObjectiveMetersTest() {
        configure(BOTH);
    }

    private void configure(@Nullable ObjectivesConfig objectives) {
        metrics.objectives(Map.of("m", DefaultValues.with(ModelConfig.DEFAULT, "objectives", objectives)));
    }

    private CallContext call(Operation operation) {
        CallContext call = new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                channel.eventLoop(),
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                0);
        call.began(operation);
        call.routed("m");
        return call;
    }

    /** A call whose request was complete at once. */
    private Exchange ended(Operation operation, @Nullable OipException failure, long nanos) {
        CallContext call = call(operation);
        call.requestComplete(0);
        if (failure != null) {
            call.failed(failure);
        }
        call.ended(nanos);
        return Exchange.of(call);
    }

    private void infer(@Nullable OipException failure, Duration took) {
        metrics.ended(ended(INFER, failure, took.toNanos()));
    }

    private static OipException failure(ErrorCode code, FailureCause cause) {
        return new OipException(code, "").because(cause);
    }

    /** Met and missed of availability, then of latency. */
    private String counts() {
        return count("availability", "met") + " " + count("availability", "missed") + ", " + count("latency", "met")
                + " " + count("latency", "missed");
    }

    private long count(String objective, String result) {
        Counter counter = registry.find("isthmus.objective.requests")
                .tags("model", "m", "objective", objective, "result", result)
                .counter();
        return counter == null ? -1 : (long) counter.count();
    }

    private double ratio(String objective) {
        return registry.get("isthmus.objective.ratio")
                .tags("model", "m", "objective", objective)
                .gauge()
                .value();
    }

    @Test
    void countersAndRatios_areThereFromTheStart() {
        assertThat(counts()).isEqualTo("0 0, 0 0");
        assertThat(ratio("availability")).isEqualTo(0.999);
        assertThat(ratio("latency")).isEqualTo(0.99);
    }

    @Test
    void success_isInTime_upToTheLimit() {
        infer(null, WITHIN);
        infer(null, WITHIN.plusNanos(1));
        assertThat(counts()).isEqualTo("2 0, 1 1");
    }

    @ParameterizedTest
    @EnumSource(FailureCause.class)
    void failure_counts_unlessItIsTheClients(FailureCause cause) {
        infer(failure(ErrorCode.UNAVAILABLE, cause), Duration.ofMillis(1));
        assertThat(counts()).isEqualTo(cause.isClients() ? "0 0, 0 0" : "0 1, 0 0");
    }

    @ParameterizedTest
    @CsvSource({"INVALID_ARGUMENT, 0", "NOT_FOUND, 0", "RESOURCE_EXHAUSTED, 0", "INTERNAL, 1", "DEADLINE_EXCEEDED, 1"})
    void statusOfAServer_countsByItsCode(ErrorCode code, int missed) {
        infer(OipException.ofServer(code, "text"), Duration.ofMillis(1));
        assertThat(counts()).isEqualTo("0 " + missed + ", 0 0");
    }

    @Test
    void clientThatGivesUp_counts_onceTheLimitHasPassed() {
        for (OipException gaveUp : new OipException[] {
            failure(ErrorCode.CANCELLED, FailureCause.CLIENT_GONE),
            failure(ErrorCode.DEADLINE_EXCEEDED, FailureCause.CLIENT_DEADLINE)
        }) {
            infer(gaveUp, WITHIN);
            infer(gaveUp, WITHIN.plusNanos(1));
        }
        assertThat(counts()).isEqualTo("0 0, 0 2");
    }

    @Test
    void clientThatGoes_beforeItsRequestIsComplete_doesNotCount() {
        CallContext call = call(INFER);
        call.cancelled();
        call.ended(2 * WITHIN.toNanos());
        metrics.ended(Exchange.of(call));
        assertThat(counts()).isEqualTo("0 0, 0 0");
    }

    @Test
    void messageOfAStream_counts_andOtherOperationsDoNot() {
        metrics.messageEnded(
                ended(new Operation.Infer(ModelRef.of("m"), new BodyForm.RestForm(-1, -1, null), true), null, 1));
        metrics.ended(ended(new Operation.ModelReady(ModelRef.of("m")), null, 1));
        metrics.ended(ended(new Operation.ReadModelMetadata(ModelRef.of("m")), null, 1));
        assertThat(counts()).isEqualTo("1 0, 1 0");
    }

    @Test
    void objectiveThatIsNotConfigured_hasNoMeters() {
        configure(new ObjectivesConfig(0.99, null, null));
        infer(null, WITHIN);
        infer(failure(ErrorCode.CANCELLED, FailureCause.CLIENT_GONE), WITHIN.multipliedBy(2));
        assertThat(counts()).isEqualTo("1 0, -1 -1");
    }

    @Test
    void counters_goOn_untilTheObjectivesChange() {
        infer(null, WITHIN);
        configure(new ObjectivesConfig(0.999, 0.99, WITHIN));
        assertThat(counts()).isEqualTo("1 0, 1 0");
        configure(new ObjectivesConfig(0.9, 0.99, WITHIN));
        assertThat(counts()).isEqualTo("0 0, 0 0");
        assertThat(ratio("availability")).isEqualTo(0.9);
        infer(null, WITHIN);
        assertThat(counts()).isEqualTo("1 0, 1 0");
    }

    @Test
    void objectives_areGone_withTheirSectionOrTheirRoute() {
        configure(null);
        assertThat(registry.find("isthmus.objective.ratio").meters()).isEmpty();
        infer(null, WITHIN);
        assertThat(counts()).isEqualTo("-1 -1, -1 -1");
        configure(BOTH);
        metrics.retain(Set.of());
        assertThat(counts()).isEqualTo("-1 -1, -1 -1");
        assertThat(registry.find("isthmus.objective.ratio").meters()).isEmpty();
    }

    @Test
    void modelWithoutObjectives_hasNoMetersBeforeItsFirstCall() {
        int before = registry.getMeters().size();
        metrics.objectives(Map.of("other", ModelConfig.DEFAULT));
        assertThat(registry.getMeters()).hasSize(before);
    }
}

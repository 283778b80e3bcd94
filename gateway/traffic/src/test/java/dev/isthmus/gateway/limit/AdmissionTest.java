package dev.isthmus.gateway.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.limit.Admission.ConcurrencyLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdmissionTest {
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final Admission admission = new Admission(new ConcurrencyLimits(3, 2), meters);

    private OipException refusal() {
        return catchThrowableOfType(OipException.class, () -> admission.acquire(""));
    }

    @Test
    void callsBeyondTheLimit_areShed() {
        admission.acquire("");
        admission.acquire("");
        admission.acquire("");
        assertThat(refusal()).hasMessage("too many concurrent calls (limit 3)");
        assertThat(refusal().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(refusal().retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(refusal().failureCause()).isEqualTo(FailureCause.GATEWAY_LIMIT);
    }

    @Test
    void permit_givenBackTwice_countsOnce() {
        Admission.Permit first = admission.acquire("");
        admission.acquire("");
        admission.acquire("");
        first.release();
        first.release();
        admission.acquire("");
        assertThat(refusal()).isNotNull();
    }

    @Test
    void callsOfOneCallerBeyondItsLimit_areShed_othersAreNot() {
        Admission.Permit first = admission.acquire("a");
        admission.acquire("a");
        OipException refused = catchThrowableOfType(OipException.class, () -> admission.acquire("a"));
        assertThat(refused).hasMessage("too many concurrent calls of this caller (limit 2)");
        assertThat(refused.code()).isEqualTo(ErrorCode.RESOURCE_EXHAUSTED);
        assertThat(catchThrowableOfType(OipException.class, () -> admission.check("a"))
                        .code())
                .isEqualTo(ErrorCode.RESOURCE_EXHAUSTED);
        admission.check("b");
        assertThat(refused.failureCause()).isEqualTo(FailureCause.CALLER_LIMIT);
        first.release();
        first.release();
        admission.acquire("a");
        assertThat(catchThrowableOfType(OipException.class, () -> admission.acquire("a")))
                .isNotNull();
    }

    @Test
    void callersAreForgotten_whenTheirCallsHaveEnded() {
        Admission.Permit a = admission.acquire("a");
        Admission.Permit b = admission.acquire("b");
        admission.acquire("");
        assertThat(catchThrowableOfType(OipException.class, () -> admission.acquire("c"))
                        .code())
                .isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(admission.callersInFlight()).isEqualTo(2);
        a.release();
        b.release();
        assertThat(admission.callersInFlight()).isZero();
        assertThat(admission.inFlight()).isEqualTo(1);
    }
}

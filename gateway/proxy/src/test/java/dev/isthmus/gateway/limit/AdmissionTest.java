package dev.isthmus.gateway.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdmissionTest {
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final Admission admission = new Admission(2, meters);

    private OipException refusal() {
        return catchThrowableOfType(OipException.class, admission::acquire);
    }

    @Test
    void callsBeyondTheLimit_areShed() {
        admission.acquire();
        admission.acquire();
        assertThat(refusal()).hasMessage("too many concurrent calls (limit 2)");
        assertThat(refusal().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(refusal().retryAfter()).contains(Duration.ofSeconds(1));
        assertThat(meters.get("isthmus.requests.shed").counter().count()).isEqualTo(3);
    }

    @Test
    void permit_givenBackTwice_countsOnce() {
        Admission.Permit first = admission.acquire();
        admission.acquire();
        first.release();
        first.release();
        admission.acquire();
        assertThat(refusal()).isNotNull();
    }
}

package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class TargetMetersTest {
    @RegisterExtension
    final LoggedEvents logged = new LoggedEvents(TargetMeters.class.getName());

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private long now;
    private final TargetMeters meters = new TargetMeters(
            registry,
            () -> now,
            "m",
            List.of(new TargetMeters.TargetLabels("old", "t", "1"), new TargetMeters.TargetLabels("new", "u", "")),
            true);
    private final TargetMeters.TargetMeter target = Objects.requireNonNull(meters.of("new"));

    private double count(String outcome) {
        return registry.get("isthmus.target.requests")
                .tags("model", "m", "target", "new", "upstream", "u", "version", "", "outcome", outcome)
                .counter()
                .count();
    }

    @Test
    void outcomes_areCountedByTarget() {
        target.ended(null);
        target.ended(null);
        target.ended(ErrorCode.INVALID_ARGUMENT);
        target.ended(ErrorCode.UNAVAILABLE);
        target.responded(5);
        assertThat(List.of(count("ok"), count("client_error"), count("server_error")))
                .containsExactly(2.0, 1.0, 1.0);
        assertThat(registry.get("isthmus.target.answer")
                        .tags("target", "new")
                        .timer()
                        .count())
                .isEqualTo(1);
        assertThat(meters.of("none")).isNull();
        meters.close();
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void failures_areLogged_andTheirEndAfterAMinute() {
        for (int i = 0; i < 6; i++) {
            target.ended(ErrorCode.UNAVAILABLE);
        }
        target.ended(null);
        assertThat(logged.all()).hasSize(6).allSatisfy(event -> {
            assertThat(event.getFormattedMessage())
                    .isEqualTo("model 'm', target 'new' (upstream 'u'): a call failed: UNAVAILABLE;"
                            + " GET /debug/errors has the texts");
            assertThat(event.getMarkerList()).contains(RepeatingLogEvent.MARKER);
            assertThat(event.getKeyValuePairs())
                    .extracting(pair -> pair.key + "=" + pair.value)
                    .containsExactly("model=m", "target=new", "upstream=u", "code=UNAVAILABLE");
        });
        now += TargetMeters.QUIET_NANOS - 1;
        target.ended(null);
        assertThat(logged.messages()).hasSize(6);
        now++;
        target.ended(null);
        target.ended(null);
        assertThat(logged.messages())
                .hasSize(7)
                .last()
                .isEqualTo("model 'm', target 'new' (upstream 'u'): calls succeed again, after 6 failures");
        target.ended(ErrorCode.INTERNAL);
        assertThat(logged.messages()).hasSize(8);
    }

    @Test
    void errorsOfClients_areNotLogged() {
        target.ended(ErrorCode.INVALID_ARGUMENT);
        assertThat(logged.messages()).isEmpty();
    }
}

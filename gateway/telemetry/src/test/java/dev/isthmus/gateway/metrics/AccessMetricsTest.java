package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is counted for each caller. */
class AccessMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final AccessMetrics metrics = new AccessMetrics(registry);

    private void ends(OipException failure) {
        CallContext call = new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                new EmbeddedChannel().eventLoop(),
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                1);
        call.began(new Operation.ReadModelMetadata(ModelRef.of("m")));
        call.authenticated(new Principal("team", Set.of(), Map.of(), IdentifiedBy.API_KEY));
        call.failed(failure);
        call.ended(2);
        metrics.ended(Exchange.of(call));
    }

    private double limited() {
        return registry.get("isthmus.principal.requests.limited").counter().count();
    }

    @Test
    void serversLimit_isNoneOfTheGateway() {
        ends(OipException.ofServer(ErrorCode.RESOURCE_EXHAUSTED, "try again later"));
        assertThat(limited()).isZero();
    }

    @Test
    void limitsOfRatesAndCallers_areCounted() {
        OipException rate = OipException.refused(ErrorCode.RESOURCE_EXHAUSTED, "too many", Duration.ofSeconds(1));
        ends(rate);
        assertThat(limited()).isEqualTo(1);
        ends(rate.because(FailureCause.CALLER_LIMIT));
        assertThat(limited()).isEqualTo(2);
    }
}

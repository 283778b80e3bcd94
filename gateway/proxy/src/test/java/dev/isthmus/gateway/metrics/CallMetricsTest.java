package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.memory.MemoryBudget;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CallMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final CallMetrics metrics = new CallMetrics(registry);
    private final EmbeddedChannel channel = new EmbeddedChannel();

    private CallContext began(String route) {
        CallContext call = new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                channel.eventLoop(),
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                1);
        call.began(new Operation.ServerReady());
        call.routed(route);
        metrics.began(call);
        return call;
    }

    private void end(CallContext call) {
        call.ended(2);
        metrics.ended(call);
    }

    @Test
    void callsOfOneRoute_shareItsMeters() {
        for (int i = 0; i < 50; i++) {
            end(began("other"));
        }
        assertThat(registry.get("isthmus.requests")
                        .tag("model", "other")
                        .timer()
                        .count())
                .isEqualTo(50);
        assertThat(registry.find("isthmus.requests").timers()).hasSize(1);
    }

    @Test
    void retain_takesOutTheMetersOfOtherRoutes_alsoThoseOfALateCall() {
        end(began("m"));
        end(began("other"));
        CallContext late = began("m");
        metrics.retain(Set.of("other"));
        end(late);
        metrics.retain(Set.of("other"));
        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .noneMatch(id -> "m".equals(id.getTag("model")))
                .anyMatch(id -> "other".equals(id.getTag("model")));
    }

    @Test
    void modelsThatAreFound_haveTheirOwnName_upToTheMost() {
        for (int i = 0; i < CallMetrics.MAX_NAMED; i++) {
            assertThat(metrics.named("m" + i, "default")).isEqualTo("m" + i);
        }
        assertThat(metrics.named("late", "default")).isEqualTo("default");
        assertThat(metrics.named("m7", "default")).isEqualTo("m7");
    }
}

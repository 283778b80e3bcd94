package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.memory.MemoryBudget;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
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
        metrics.began(Exchange.of(call));
        return call;
    }

    private void end(CallContext call) {
        call.ended(2);
        metrics.ended(Exchange.of(call));
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
    void callsBeyondTheLimitOfSeries_areThoseOfOther_andAreCounted() {
        SimpleMeterRegistry few = new SimpleMeterRegistry();
        int ofOne = 1 + CallMetrics.SUMS_SERIES + CallMetrics.TIMER_SERIES;
        CallMetrics bounded = new CallMetrics(few, 2 * ofOne);
        for (String route : List.of("a", "b", "c", "d", "a")) {
            CallContext call = began(route);
            bounded.began(Exchange.of(call));
            bounded.opened(Exchange.of(call));
            call.ended(2);
            bounded.ended(Exchange.of(call));
        }
        assertThat(calls(few, "a")).isEqualTo(2);
        assertThat(calls(few, "b")).isEqualTo(1);
        assertThat(few.find("isthmus.requests").tag("model", "c").timer()).isNull();
        assertThat(calls(few, "other")).isEqualTo(2);
        assertThat(few.get("isthmus.metrics.overflow").counter().count()).isEqualTo(2);
        assertThat(few.get("isthmus.metrics.series").gauge().value()).isEqualTo(2 * ofOne);

        bounded.retain(Set.of("b"));
        CallContext late = began("c");
        late.ended(2);
        bounded.ended(Exchange.of(late));
        assertThat(calls(few, "c")).isEqualTo(1);
    }

    private static long calls(SimpleMeterRegistry registry, String model) {
        return registry.get("isthmus.requests").tag("model", model).timer().count();
    }

    @Test
    void callsInFlight_areCountedByModel() {
        Exchange exchange = opened("m");
        assertThat(inFlight("m")).isEqualTo(1);
        end(exchange);
        assertThat(inFlight("m")).isZero();
    }

    private Exchange opened(String route) {
        Exchange exchange = Exchange.of(began(route));
        metrics.opened(exchange);
        return exchange;
    }

    private void end(Exchange exchange) {
        exchange.context().ended(2);
        metrics.ended(exchange);
    }

    @Test
    void callThatWasNotOpened_wasNotInFlight() {
        end(began("m"));
        assertThat(inFlight("m")).isZero();
        opened("m");
        assertThat(inFlight("m")).isEqualTo(1);
    }

    /** As a reload removes the model, and another one adds it again. */
    @Test
    void callsInFlight_areCounted_afterTheirRouteWasRemovedMeanwhile() {
        Exchange late = opened("m");
        metrics.retain(Set.of());
        end(late);
        assertThat(inFlight("m")).isZero();
        opened("m");
        assertThat(inFlight("m")).isEqualTo(1);
    }

    private double inFlight(String model) {
        return registry.get("isthmus.model.requests.under.way")
                .tag("model", model)
                .gauge()
                .value();
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

package dev.isthmus.gateway.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.diagnosis.LiveCalls.CallView;
import dev.isthmus.gateway.diagnosis.LiveCalls.CallView.CallFilter;
import dev.isthmus.gateway.diagnosis.LiveCalls.CallView.CallRing;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.AsciiString;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LiveCallsTest {
    private static final CallFilter ALL = new CallFilter("", "", "", "", false, 0);

    private final AtomicLong now = new AtomicLong(-5);
    private final LiveCalls live = new LiveCalls(now::get, () -> Instant.EPOCH);
    private final EmbeddedChannel channel = new EmbeddedChannel();

    private CallContext call(String model, long millis) {
        return call(model, millis, channel.eventLoop());
    }

    private static CallContext call(String model, long millis, EventLoop loop) {
        CallContext call = new CallContext(
                ClientProtocol.REST,
                null,
                HeaderFields.NONE,
                loop,
                ByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                0);
        call.began(new Operation.ReadModelMetadata(new ModelRef(model, "3")));
        call.identified(AsciiString.of("r-1"), false);
        call.authenticated(new Principal("ml-team", Set.of(), Map.of(), IdentifiedBy.API_KEY));
        call.routed("route-" + model);
        call.sentTo("canary", "triton", ModelRef.of("there"));
        call.attempted("10.0.0.1:1");
        call.retried("unavailable");
        call.attempted("10.0.0.2:1");
        call.requestComplete(TimeUnit.MILLISECONDS.toNanos(1));
        call.ended(TimeUnit.MILLISECONDS.toNanos(millis));
        return call;
    }

    private CallContext failed(String model) {
        CallContext call = call(model, 5);
        call.failed(new OipException(ErrorCode.UNAVAILABLE, "x".repeat(600)));
        return call;
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> calls(CallView view, long after) {
        return (List<Map<String, Object>>) view.document(after).getOrDefault("calls", List.of());
    }

    @Test
    void withoutView_nothingIsKept() {
        live.ended(call("m", 5));
        assertThat(calls(live.view("page-one", ALL), 0)).isEmpty();
    }

    @Test
    void call_isKeptWithItsDetails() {
        CallView view = live.view("page-one", ALL);
        live.ended(failed("m"));
        assertThat(calls(view, 0))
                .singleElement()
                .satisfies(call -> assertThat(call)
                        .containsEntry("model", "m")
                        .containsEntry("version", "3")
                        .containsEntry("route", "route-m")
                        .containsEntry("target", "canary")
                        .containsEntry("upstream", "triton")
                        .containsEntry("served_model", "there")
                        .containsEntry("server", "10.0.0.2:1")
                        .containsEntry("attempts", 2)
                        .containsEntry("retries", List.of("unavailable"))
                        .containsEntry("code", "UNAVAILABLE")
                        .containsEntry("cause", "unavailable")
                        .containsEntry("status", 503)
                        .containsEntry("reason", "x".repeat(500))
                        .containsEntry("request_id", "r-1")
                        .containsEntry("protocol", "rest")
                        .containsEntry("caller", "ml-team")
                        .containsEntry("operation", "model_metadata")
                        .containsEntry("request_ms", 1.0)
                        .containsEntry("duration_ms", 5.0)
                        .doesNotContainKey("response_ms"));
    }

    private @Nullable EndedCall find(String requestId) {
        return live.calls()
                .filter(each -> each.requestId().equals(requestId))
                .findFirst()
                .orElse(null);
    }

    @Test
    void call_isFoundByItsRequestId_whileAPageShowsIt() {
        live.ended(call("m", 5));
        assertThat(find("r-1")).isNull();
        live.view("page-one", ALL);
        live.ended(call("m", 5));
        assertThat(Objects.requireNonNull(find("r-1")).attempts()).isEqualTo(2);
        assertThat(find("r-2")).isNull();
    }

    @Test
    void newestCalls_comeFirst_andOnlyThoseThatAreNew() {
        CallView view = live.view("page-one", ALL);
        for (String model : List.of("a", "b", "c")) {
            live.ended(call(model, 5));
        }
        assertThat(calls(view, 0)).extracting(call -> call.get("model")).containsExactly("c", "b", "a");
        assertThat(calls(view, 2)).extracting(call -> call.get("number")).containsExactly(3L);
    }

    @Test
    void view_endsWhenItIsNotRead() {
        CallView view = live.view("page-one", ALL);
        now.addAndGet(LiveCalls.LEASE_NANOS - 1);
        assertThat(live.view("page-one", ALL)).isSameAs(view);
        now.addAndGet(LiveCalls.LEASE_NANOS);
        live.ended(call("m", 5));
        assertThat(live.watched()).isFalse();
        assertThat(calls(live.view("page-one", ALL), 0)).isEmpty();
    }

    @Test
    void otherFilter_replacesTheView() {
        live.view("page-one", ALL);
        live.ended(call("m", 5));
        for (int i = 0; i <= LiveCalls.MAX_VIEWS; i++) {
            CallView view = live.view("page-one", new CallFilter("m" + i, "", "", "", false, 0));
            assertThat(calls(view, 0)).isEmpty();
        }
    }

    @Test
    void views_areLimited() {
        for (int i = 0; i < LiveCalls.MAX_VIEWS; i++) {
            live.view("page-" + i, ALL);
        }
        assertThatThrownBy(() -> live.view("page-more", ALL))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("at most 8 pages");
        now.addAndGet(LiveCalls.LEASE_NANOS);
        for (int i = 0; i < LiveCalls.MAX_VIEWS; i++) {
            live.view("page-more" + i, ALL);
        }
    }

    @Test
    void tooManyCalls_areSampled_failedOnesApart() {
        CallView view = live.view("page-one", ALL);
        for (int i = 0; i < 100; i++) {
            live.ended(call("m", 5));
        }
        live.ended(failed("f"));
        assertThat(calls(view, 0)).hasSize(CallRing.KEPT + 1);
        assertThat(calls(view, 0).getFirst()).containsEntry("model", "f");
        assertThat(view.document(0)).containsEntry("matching_calls", 101L).containsEntry("kept_calls", 11L);
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(100));
        live.ended(call("later", 5));
        assertThat(calls(view, 0).getFirst()).containsEntry("model", "later");
    }

    @Test
    void oldCalls_areForgotten() {
        CallView view = live.view("page-one", ALL);
        for (int i = 0; i < 2 * CallRing.SIZE; i++) {
            now.addAndGet(TimeUnit.MILLISECONDS.toNanos(20));
            live.ended(call("m", 5));
            live.view("page-one", ALL);
        }
        assertThat(calls(view, 0)).hasSize(CallRing.SIZE);
    }

    @ParameterizedTest
    @CsvSource({
        "M, '', false, 0, true",
        "route-M, '', false, 0, true",
        "THERE, '', false, 0, true",
        "other, '', false, 0, false",
        "'', TRI, false, 0, true",
        "'', '0.0.2', false, 0, true",
        "'', '0.0.1', false, 0, false",
        "'', '', true, 0, false",
        "'', '', false, 5, true",
        "'', '', false, 6, false",
    })
    void filter(String model, String server, boolean failed, long millis, boolean kept) {
        CallView view = live.view(
                "page-one", new CallFilter(model, server, "", "", failed, TimeUnit.MILLISECONDS.toNanos(millis)));
        live.ended(call("m", 5));
        assertThat(calls(view, 0)).hasSize(kept ? 1 : 0);
    }

    @ParameterizedTest
    @CsvSource({
        "TEAM, '', true, true",
        "other, '', false, false",
        "'', ok, true, false",
        "'', 2xx, true, false",
        "'', 200, true, false",
        "'', 5XX, false, true",
        "'', 503, false, true",
        "'', 500, false, false",
        "'', UNAVAILABLE, false, true",
        "'', no_server, false, false",
    })
    void filterByCallerAndEnd(String caller, String code, boolean good, boolean bad) {
        assertThat(CallFilter.isCode(code)).isTrue();
        CallView view = live.view("page-one", new CallFilter("", "", caller, code, false, 0));
        live.ended(call("m", 5));
        assertThat(calls(view, 0)).hasSize(good ? 1 : 0);
        live.ended(failed("m"));
        assertThat(calls(view, 0)).hasSize((good ? 1 : 0) + (bad ? 1 : 0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"6xx", "5x", "50", "5030", "unavailable!", "x"})
    void codeThatNoCallHas_isNone(String code) {
        assertThat(CallFilter.isCode(code)).isFalse();
    }

    @Test
    void ownCallsOfTheGateway_areNotShown() {
        CallView view = live.view("page-one", ALL);
        live.ended(CallContext.internal(channel.eventLoop(), ByteBufAllocator.DEFAULT));
        assertThat(calls(view, 0)).isEmpty();
    }

    /** A page asks for the calls after the newest that it has: none with a smaller number may come later. */
    @Test
    void callsOfTwoLoops_areAllShown_whicheverIsKeptFirst() {
        List<Object> shown = new ArrayList<>();
        AtomicReference<@Nullable Runnable> meanwhile = new AtomicReference<>();
        LiveCalls two = new LiveCalls(now::get, () -> {
            Runnable other = meanwhile.getAndSet(null);
            if (other != null) {
                other.run();
            }
            return Instant.EPOCH;
        });
        CallView view = two.view("page-one", ALL);
        AtomicLong newest = new AtomicLong();
        Runnable look = () -> calls(view, newest.get()).reversed().forEach(call -> {
            shown.add(Objects.requireNonNull(call.get("model")));
            newest.set((long) Objects.requireNonNull(call.get("number")));
        });
        // The call of the other loop has the later number, and is kept first.
        meanwhile.set(() -> {
            two.ended(call("second", 5, new EmbeddedChannel().eventLoop()));
            look.run();
        });
        two.ended(call("first", 5));
        look.run();
        assertThat(shown).containsExactly("first", "second");
    }
}

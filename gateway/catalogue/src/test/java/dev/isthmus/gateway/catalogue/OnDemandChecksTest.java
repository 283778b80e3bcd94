package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.OnDemandChecks.CheckResults;
import dev.isthmus.gateway.catalogue.OnDemandChecks.ModelOnServer;
import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OnDemandChecksTest {
    private static final ModelRef MODEL = new ModelRef("m", "2");

    private final AtomicLong now = new AtomicLong();
    private final FakeUpstream one = new FakeUpstream();
    private final FakeUpstream two = new FakeUpstream();
    private final List<String> failed = new ArrayList<>();
    private final List<LookupResult<CheckResults>> results = new ArrayList<>();
    private final OnDemandChecks checks = new OnDemandChecks(
            new CatalogueRequests(
                    new EmbeddedChannel().eventLoop(),
                    UnpooledByteBufAllocator.DEFAULT,
                    (upstream, what) -> failed.add(upstream),
                    (call, server, reply) -> {},
                    1),
            now::get);

    private void ask(FakeUpstream... servers) {
        checks.check(
                List.of(servers).stream()
                        .map(server -> new ModelOnServer(server, MODEL))
                        .toList(),
                results::add);
    }

    private static void respond(FakeUpstream server, boolean ready) {
        server.last().reply.only(new ReplyMessage.ModelReadyState(MODEL, ready));
    }

    private CheckResults results() {
        assertThat(results.getLast()).isInstanceOf(LookupResult.Value.class);
        return ((LookupResult.Value<CheckResults>) results.getLast()).value();
    }

    @Test
    void everyServerIsCalled_andItsResponseCounted() {
        ask(one, two);
        respond(one, true);
        assertThat(results).isEmpty();
        respond(two, false);
        assertThat(results()).isEqualTo(new CheckResults(1, 2, List.of()));
    }

    @Test
    void manyLookUpsAtOnce_areOneRequest_keptForASecond() {
        ask(one);
        ask(one);
        assertThat(one.requests).hasSize(1);
        respond(one, true);
        assertThat(results).hasSize(2);
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(900));
        ask(one);
        assertThat(one.requests).hasSize(1);
        assertThat(results).hasSize(3);
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(200));
        ask(one);
        assertThat(one.requests).hasSize(2);
    }

    @Test
    void otherServers_areCalledThoughOneIsKnown() {
        ask(one);
        respond(one, true);
        ask(one, two);
        assertThat(one.requests).hasSize(2);
        assertThat(two.requests).hasSize(1);
    }

    @Test
    void modelsWereLoaded_isRequestedAnew() {
        ask(one);
        respond(one, false);
        checks.forgetAll();
        ask(one);
        assertThat(one.requests).hasSize(2);
    }

    @Test
    void serverThatFails_saysNothing_andIsCounted() {
        ask(one, two);
        one.last().fail(ErrorCode.PERMISSION_DENIED, Processed.YES);
        two.last().fail(ErrorCode.NOT_FOUND, Processed.YES);
        assertThat(results().responses()).isZero();
        assertThat(results().unknown()).isTrue();
        assertThat(results().failures())
                .extracting(OipException::code)
                .containsExactly(ErrorCode.PERMISSION_DENIED, ErrorCode.NOT_FOUND);
        assertThat(failed).containsExactly("fake");
    }

    @Test
    void serverThatCannotBeReached_isKnownNotToBeReady() {
        ask(one, two);
        one.last().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        two.last().fail(ErrorCode.PERMISSION_DENIED, Processed.YES);
        assertThat(results().unknown()).isFalse();
    }

    @Test
    void noServer_isNoneReady() {
        ask();
        assertThat(results()).isEqualTo(new CheckResults(0, 0, List.of()));
        assertThat(results().unknown()).isFalse();
    }

    @Test
    void responseWithoutAMessage_isAFailure() {
        ask(one);
        one.last().reply.complete();
        assertThat(results().failures())
                .singleElement()
                .matches(failure -> failure.code() == ErrorCode.BAD_UPSTREAM_ANSWER);
    }

    @Test
    void serversThatThrow_haveFailed_andHoldNoPlace() {
        one.beforeReturn = received -> {
            throw new IllegalStateException("broken");
        };
        for (int i = 0; i < 40; i++) {
            checks.check(List.of(new ModelOnServer(one, ModelRef.of("m" + i))), results::add);
        }
        assertThat(results).hasSize(40);
        ask(two);
        respond(two, true);
        assertThat(results().ready()).isEqualTo(1);
    }

    @Test
    void manyChecks_someWait() {
        for (int i = 0; i < 40; i++) {
            checks.check(List.of(new ModelOnServer(one, ModelRef.of("m" + i))), results::add);
        }
        assertThat(one.requests).hasSize(32);
        List.copyOf(one.requests)
                .forEach(received -> received.reply.only(new ReplyMessage.ModelReadyState(MODEL, true)));
        assertThat(one.requests).hasSize(40);
        IntStream.range(32, 40)
                .forEach(i -> one.requests.get(i).reply.only(new ReplyMessage.ModelReadyState(MODEL, true)));
        assertThat(results).hasSize(40);
    }
}

package dev.isthmus.gateway.upstream.rest;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RestPoolTest {
    private static final Duration MINUTE = Duration.ofSeconds(60);

    private final RestBench rest = new RestBench();

    @AfterEach
    void nothingIsHeld() {
        rest.close();
    }

    private RestUpstream pooled(int connections, int waiting, Endpoint endpoint) {
        var pool = new PoolLimits(connections, waiting, MINUTE);
        return rest.upstream(pool, BinaryTensorData.FALSE, MINUTE, 1000, endpoint);
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void upstream_onEveryTransport_responds(Transport transport) throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"));
                var other = new RestBench(transport)) {
            assertThat(RestBench.text(other.infer(other.upstream(server.endpoint()))))
                    .isEqualTo("{}");
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void cancel_whileWaiting_leavesThePlaceToTheNext() throws Exception {
        var go = new CountDownLatch(1);
        try (var server = FakeRestServer.that((request, out) -> {
            awaitQuietly(go);
            write(out, ok("{}"));
            return true;
        })) {
            RestUpstream upstream = pooled(1, 1, server.endpoint());
            RecordedReply first = rest.infer(upstream);
            RecordedReply second = rest.infer(upstream);
            second.cancel();
            RecordedReply third = rest.infer(upstream);
            rest.bench().settle();
            go.countDown();
            RestBench.bytes(first);
            RestBench.bytes(third);
            assertThat(second.ended()).isFalse();
            assertThat(server.connections()).isEqualTo(1);
            server.request();
            server.request();
            assertThat(server.unread()).isZero();
        }
    }

    /** The server closes the connection, and the next request takes its place at once: the one before has its turn first. */
    @Test
    void requestThatIsSentAgain_waitsBeforeAllOthers() throws Exception {
        var go = new CountDownLatch(1);
        try (var server = FakeRestServer.that((request, out) -> {
            if (request.head().contains("/two/") && request.connection() == 1) {
                awaitQuietly(go);
                return false;
            }
            write(out, ok("{}"));
            return true;
        })) {
            RestUpstream upstream = pooled(1, 10, server.endpoint());
            rest.modelReady(upstream, "one").response();
            List<RecordedReply> others = Stream.of("two", "three", "four")
                    .map(model -> rest.modelReady(upstream, model))
                    .toList();
            rest.bench().settle();
            go.countDown();
            for (RecordedReply each : others) {
                each.response();
            }
            List<String> paths = new ArrayList<>();
            while (server.unread() > 0) {
                paths.add(server.request().head().split("/", -1)[3]);
            }
            assertThat(paths).containsExactly("one", "two", "three", "two", "four");
        }
    }

    @Test
    void pool_thatIsFull_queuesAndThenRefuses() throws Exception {
        var go = new CountDownLatch(1);
        try (var server = FakeRestServer.that((request, out) -> {
            awaitQuietly(go);
            write(out, ok("{}"));
            return true;
        })) {
            RestUpstream upstream = pooled(2, 2, server.endpoint());
            List<RecordedReply> replies = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                replies.add(rest.infer(upstream));
            }
            OipException refused = rest.infer(upstream).failure();
            assertThat(refused.code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(refused).hasMessage("upstream 'triton' has all 2 connections in use and its queue is full");
            go.countDown();
            for (RecordedReply reply : replies) {
                assertThat(RestBench.text(reply)).isEqualTo("{}");
            }
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void connection_thatNobodyUses_isClosed() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            var pool = new PoolLimits(1, 1, Duration.ofMillis(50));
            RestUpstream upstream = rest.upstream(pool, BinaryTensorData.FALSE, MINUTE, 1000, server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(Duration.ofMillis(50).toNanos());
            server.awaitConnectionClosed();
        }
    }

    @Test
    void connection_thatIsSurplus_isClosedWhileTheOneInUseStays() throws Exception {
        var both = new CountDownLatch(2);
        try (var server = FakeRestServer.that((request, out) -> {
            both.countDown();
            awaitQuietly(both);
            write(out, ok("{}"));
            return true;
        })) {
            var pool = new PoolLimits(2, 2, Duration.ofMillis(50));
            RestUpstream upstream = rest.upstream(pool, BinaryTensorData.FALSE, MINUTE, 1000, server.endpoint());
            RecordedReply first = rest.infer(upstream);
            RestBench.bytes(rest.infer(upstream));
            RestBench.bytes(first);
            rest.bench().settle();
            rest.nanoTime.addAndGet(Duration.ofMillis(30).toNanos());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(Duration.ofMillis(20).toNanos());
            server.awaitConnectionClosed();
            RestBench.bytes(rest.infer(upstream));
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void port_withoutServer_isUnavailableWithoutItsAddress() throws Exception {
        RestUpstream upstream = rest.upstream(TestConfigs.unusedEndpoint());
        OipException failure = rest.infer(upstream).failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(failure).hasMessage("upstream 'triton' is not reachable");
        assertThat(failure.getCause()).isNotNull();
    }

    @Test
    void deadline_whileAConnectionIsBeingMade_isTheDeadlines() throws Exception {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var one = new Socket(socket.getInetAddress(), socket.getLocalPort());
                var two = new Socket(socket.getInetAddress(), socket.getLocalPort())) {
            assertThat(List.of(one, two)).allMatch(Socket::isConnected);
            RestUpstream upstream = rest.upstream(new Endpoint("127.0.0.1", socket.getLocalPort()));
            var call = rest.bench().callWithin(Duration.ofMillis(300));
            assertThat(rest.infer(upstream, call).failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        }
    }

    @Test
    void waiting_forAServerThatIsGone_failsForAll() throws Exception {
        RestUpstream upstream = pooled(1, 10, TestConfigs.unusedEndpoint());
        List<RecordedReply> replies = List.of(rest.infer(upstream), rest.infer(upstream), rest.infer(upstream));
        for (RecordedReply reply : replies) {
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }

    /** Netty has no channel, and so no event loop, on which to tell it. */
    @Test
    void tooManyOpenFiles_failACall_onItsEventLoop() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            RestUpstream other = rest.upstream(server.endpoint());
            RecordedReply reply = rest.inferWithoutFiles(other);
            assertThat(reply.failure()).hasMessage("upstream 'triton' is not reachable");
            assertThat(RestBench.text(rest.infer(other))).isEqualTo("{}");
        }
    }

    @Test
    void endpoint_thatComesBack_isUsedAgain() throws Exception {
        Endpoint endpoint = TestConfigs.unusedEndpoint();
        FakeRestServer.Script script = (request, out) -> {
            write(out, ok("{}"));
            return true;
        };
        RestUpstream upstream = rest.upstream(endpoint);
        try (var _ = FakeRestServer.on(endpoint.port(), script)) {
            RestBench.bytes(rest.infer(upstream));
        }
        rest.infer(upstream).failure();
        try (var again = FakeRestServer.on(endpoint.port(), script)) {
            await().ignoreExceptions()
                    .until(() -> RestBench.text(rest.infer(upstream)).equals("{}"));
            assertThat(again.connections()).isPositive();
        }
    }

    @Test
    void close_endsCallsUnderWayAndWaiting_andRefusesNewOnes() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> true)) {
            RestUpstream upstream = pooled(1, 1, server.endpoint());
            RecordedReply underWay = rest.infer(upstream);
            RecordedReply waiting = rest.infer(upstream);
            server.request();
            upstream.close();
            OipException lost = underWay.failure();
            assertThat(lost).hasMessage("upstream 'triton' was taken out of service");
            assertThat(lost.processed()).isEqualTo(OipException.Processed.MAYBE);
            for (RecordedReply reply : List.of(waiting, rest.infer(upstream))) {
                OipException failure = reply.failure();
                assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
                assertThat(failure).hasMessage("upstream 'triton' was taken out of service");
                assertThat(failure.processed()).isEqualTo(OipException.Processed.NO);
            }
        }
    }

    /** Between the request and the poll that shows whether the connection is still open, the server leaves. */
    @Test
    void close_endsACallThatIsAboutToGetAnIdleConnection() throws Exception {
        var go = new CountDownLatch(1);
        var answered = new CountDownLatch(1);
        try (var server = FakeRestServer.sending(ok("{}"));
                var other = FakeRestServer.that((request, out) -> {
                    awaitQuietly(go);
                    write(out, ok("{}"));
                    answered.countDown();
                    return true;
                })) {
            RestUpstream upstream = pooled(1, 1, server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(Duration.ofSeconds(2).toNanos());
            RecordedReply closing =
                    rest.inferWith(rest.upstream(other.endpoint()), client -> new ForwardingReply(client) {
                        @Override
                        public void complete() {
                            upstream.close();
                            super.complete();
                        }
                    });
            other.request();
            RecordedReply late = rest.inferAfter(upstream, () -> {
                go.countDown();
                awaitQuietly(answered);
            });
            RestBench.bytes(closing);
            assertThat(late.failure()).hasMessage("upstream 'triton' was taken out of service");
        }
    }
}

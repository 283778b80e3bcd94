package dev.isthmus.gateway.upstream.grpc;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.ConnectionRules;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Connections that cannot be established, end, or accept no more streams. */
class ConnectionsTest {
    private static final int MAX_CONCURRENT_STREAMS = 3;
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Duration TWO_SECONDS = Duration.ofSeconds(2);

    private final GrpcUpstreamCalls calls = new GrpcUpstreamCalls();

    @AfterEach
    void nothingIsHeld() {
        calls.close();
    }

    private static ConnectionRules impatient() {
        return new ConnectionRules(8, 100, SHORT, SHORT);
    }

    /** @param patience with a server that neither sends SETTINGS nor answers */
    private static ConnectionRules pinging(Duration idle, Duration patience) {
        return new ConnectionRules(8, 100, idle, patience);
    }

    private void expectUnreachable(RawHttp2Server.Script script) throws Exception {
        try (var server = new RawHttp2Server(script)) {
            OipException failure =
                    calls.infer(calls.to(loopback(server.port()), impatient())).failure();
            assertThat(failure).hasMessage("upstream 'triton' is not reachable");
            assertThat(failure.processed()).isEqualTo(Processed.NO);
        }
    }

    @Test
    void server_thatClosesAtOnce_isNotReachable() throws Exception {
        expectUnreachable(peer -> {});
    }

    @Test
    void server_ofHttp1_isNotReachable() throws Exception {
        expectUnreachable(peer -> {
            peer.skipPreface();
            peer.raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            peer.awaitEnd();
        });
    }

    @Test
    void server_thatSendsGarbage_isNotReachable() throws Exception {
        expectUnreachable(peer -> {
            peer.raw("\0\0\0\u0001\0\u00ff\u00ff\u00ff\u00ff and so on");
            peer.awaitEnd();
        });
    }

    @Test
    void server_thatSaysNothing_isNotReachable() throws Exception {
        expectUnreachable(RawHttp2Connection::awaitEnd);
    }

    @Test
    void server_thatGoesAwayAtOnce_isNotCalledInACircle() throws Exception {
        RawHttp2Server.Script script = peer -> {
            peer.hello(MAX_CONCURRENT_STREAMS, 0);
            peer.words(Http2FrameTypes.GO_AWAY, 0, 0, 0);
            peer.awaitEnd();
        };
        try (var server = new RawHttp2Server(script)) {
            OipException failure =
                    calls.infer(calls.to(loopback(server.port()))).failure();
            assertThat(failure.processed()).isEqualTo(Processed.NO);
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @Test
    void deadline_passesBeforeTheServerSaysAnything() throws Exception {
        try (var server = new RawHttp2Server(RawHttp2Connection::awaitEnd)) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            OipException failure =
                    calls.infer(upstream, calls.bench.callWithin(SHORT), 1).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        }
    }

    @Test
    void reset_ofAServerThatMindsTheDeadline_isTheDeadline() throws Exception {
        CountDownLatch requested = new CountDownLatch(1);
        CountDownLatch reset = new CountDownLatch(1);
        CompletableFuture<Call> hurried = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            if (stream == 1) {
                peer.respond(stream);
                return;
            }
            requested.countDown();
            await().until(() -> System.nanoTime() - hurried.join().deadlineNanos() > 0);
            peer.words(Http2FrameTypes.RST_STREAM, stream, (int) Http2Error.CANCEL.code());
            reset.countDown();
        })) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            // There is a connection before the time begins to pass.
            assertThat(calls.infer(upstream).protobuf()).containsExactly(7);
            Call call = calls.bench.callWithin(SHORT);
            hurried.complete(call);
            RecordedReply reply = calls.infer(upstream, call, 1);
            await().until(() -> requested.getCount() == 0 || reply.ended());
            // The loop is late, as on a busy machine: it handles the reset before the expired timeout.
            calls.bench.loop().submit(() -> reset.await(30, TimeUnit.SECONDS));
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        }
    }

    @Test
    void garbage_amidCalls_isALostConnection() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> peer.raw("HTTP/1.1 200 OK\r\n\r\n"))) {
            OipException failure =
                    calls.infer(calls.to(loopback(server.port()))).failure();
            assertThat(failure).hasMessage("upstream 'triton' violated HTTP/2, and its connection was closed");
            assertThat(failure.processed()).isEqualTo(Processed.MAYBE);
        }
    }

    @Test
    void server_thatAcknowledgesNoPing_losesItsCalls() throws Exception {
        RawHttp2Server.Script script = peer -> {
            peer.acknowledgesPings = false;
            peer.hello();
            peer.await(Http2FrameTypes.GO_AWAY);
        };
        try (var server = new RawHttp2Server(script)) {
            OipException failure = calls.infer(calls.to(loopback(server.port()), pinging(SHORT, TWO_SECONDS)))
                    .failure();
            assertThat(failure).hasMessageStartingWith("upstream 'triton' did not answer a ping within ");
            assertThat(server.pings()).isEqualTo(1);
        }
    }

    /** What it sent before it got the PING arrives behind it. */
    @Test
    void server_thatIsLostAfterItsLastBytes_losesItsCalls() throws Exception {
        RawHttp2Server.Script script = peer -> {
            peer.acknowledgesPings = false;
            peer.hello();
            peer.await(Http2FrameTypes.PING);
            peer.words(Http2FrameTypes.WINDOW_UPDATE, 0, 1);
            peer.await(Http2FrameTypes.GO_AWAY);
        };
        try (var server = new RawHttp2Server(script)) {
            OipException failure = calls.infer(calls.to(loopback(server.port()), pinging(SHORT, TWO_SECONDS)))
                    .failure();
            assertThat(failure).hasMessageStartingWith("upstream 'triton' did not answer a ping within ");
            assertThat(server.pings()).isEqualTo(1);
        }
    }

    @Test
    void server_thatAcknowledgesPings_keepsItsCalls() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            peer.await(Http2FrameTypes.PING);
            peer.await(Http2FrameTypes.PING);
            peer.respond(stream);
        })) {
            RecordedReply reply =
                    calls.infer(calls.to(loopback(server.port()), pinging(SHORT, GrpcUpstreamCalls.LONG)));
            assertThat(reply.protobuf()).containsExactly(7);
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    /** gRPC's servers close a connection after more. */
    @Test
    void quietServer_getsTwoPings_andTheNextMuchLater() throws Exception {
        ConnectionRules frequent = pinging(SHORT.dividedBy(10), GrpcUpstreamCalls.LONG);
        try (var quiet = RawHttp2Server.responding((peer, stream) -> peer.await(Http2FrameTypes.GO_AWAY));
                var other = RawHttp2Server.responding((peer, stream) -> {
                    for (int i = 0; i < 6; i++) {
                        peer.await(Http2FrameTypes.PING);
                    }
                    peer.respond(stream);
                })) {
            RecordedReply waiting =
                    calls.infer(calls.to(loopback(quiet.port()), pinging(SHORT, GrpcUpstreamCalls.LONG)));
            assertThat(calls.infer(calls.to(loopback(other.port()), frequent)).protobuf())
                    .containsExactly(7);
            await().untilAsserted(() -> assertThat(quiet.pings()).isEqualTo(2));
            waiting.discard();
        }
    }

    @Test
    void goAway_letsCallsEnd_andTheNextGoElsewhere() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            peer.head(stream);
            peer.words(Http2FrameTypes.GO_AWAY, 0, stream, 0);
            peer.message(stream);
            peer.trailers(stream);
        })) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            for (int i = 1; i <= 3; i++) {
                assertThat(calls.infer(upstream).protobuf()).containsExactly(7);
                assertThat(server.connections()).isEqualTo(i);
            }
        }
    }

    @Test
    void connection_closedWhileNobodyUsesIt_isMadeAnew() throws Exception {
        RawHttp2Server.Script once = peer -> {
            peer.hello();
            peer.respond(peer.request());
        };
        try (var server = new RawHttp2Server(once)) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            assertThat(calls.infer(upstream).protobuf()).containsExactly(7);
            await().atMost(Duration.ofSeconds(20))
                    .ignoreExceptions()
                    .untilAsserted(
                            () -> assertThat(calls.infer(upstream).protobuf()).containsExactly(7));
        }
    }

    @Test
    void calls_beyondTheServersLimit_goOverMoreConnections() throws Exception {
        CountDownLatch three = new CountDownLatch(3);
        RawHttp2Server.Script script = peer -> {
            peer.hello(MAX_CONCURRENT_STREAMS, 1);
            int stream = peer.request();
            three.countDown();
            awaited(three);
            peer.respond(stream);
            peer.awaitEnd();
        };
        try (var server = new RawHttp2Server(script)) {
            GrpcUpstream upstream = calls.to(loopback(server.port()));
            RecordedReply first = calls.infer(upstream);
            RecordedReply second = calls.infer(upstream);
            assertThat(calls.infer(upstream).protobuf()).containsExactly(7);
            assertThat(first.protobuf()).containsExactly(7);
            assertThat(second.protobuf()).containsExactly(7);
            assertThat(server.connections()).isEqualTo(3);
        }
    }

    private static void awaited(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A server that accepts one call on one connection, and a queue for one more, both used. */
    private final class FullServer implements AutoCloseable {
        private final Semaphore goOn = new Semaphore(0);
        private final Semaphore requested = new Semaphore(0);
        private final RawHttp2Server server;
        final GrpcUpstream upstream;
        final RecordedReply carried;
        final RecordedReply waiting;

        FullServer(Duration patience) throws Exception {
            server = new RawHttp2Server(peer -> {
                peer.hello(MAX_CONCURRENT_STREAMS, 1);
                while (true) {
                    int stream = peer.request();
                    requested.release();
                    goOn.acquireUninterruptibly();
                    peer.respond(stream);
                }
            });
            upstream = calls.to(
                    loopback(server.port()), new ConnectionRules(1, 1, GrpcUpstreamCalls.LONG, GrpcUpstreamCalls.LONG));
            carried = calls.infer(upstream);
            assertThat(requested.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
            waiting = calls.infer(upstream, calls.bench.callWithin(patience), 1);
            calls.bench.settle();
        }

        @Override
        public void close() throws IOException {
            goOn.release(100);
            server.close();
        }
    }

    @Test
    void call_thatFindsNoRoom_waitsForIt() throws Exception {
        try (var full = new FullServer(GrpcUpstreamCalls.LONG)) {
            full.goOn.release(2);
            assertThat(full.carried.protobuf()).containsExactly(7);
            assertThat(full.waiting.protobuf()).containsExactly(7);
        }
    }

    @Test
    void call_thatFindsTheQueueFull_isRefused() throws Exception {
        try (var full = new FullServer(GrpcUpstreamCalls.LONG)) {
            OipException failure = calls.infer(full.upstream).failure();
            assertThat(failure).hasMessage("upstream 'triton' has all 1 connections in use and its queue is full");
            assertThat(failure.processed()).isEqualTo(Processed.NO);
            full.waiting.cancel();
            full.carried.cancel();
        }
    }

    @Test
    void call_cancelledInTheQueue_leavesItsPlace() throws Exception {
        try (var full = new FullServer(GrpcUpstreamCalls.LONG)) {
            full.waiting.cancel();
            RecordedReply next = calls.infer(full.upstream);
            full.goOn.release(2);
            assertThat(full.carried.protobuf()).containsExactly(7);
            assertThat(next.protobuf()).containsExactly(7);
            assertThat(full.waiting.ended()).isFalse();
        }
    }

    @Test
    void call_whoseDeadlinePassesInTheQueue_timesOut() throws Exception {
        try (var full = new FullServer(SHORT)) {
            assertThat(full.waiting.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            full.goOn.release();
            assertThat(full.carried.protobuf()).containsExactly(7);
        }
    }

    @Test
    void close_failsThoseThatWait() throws Exception {
        try (var full = new FullServer(GrpcUpstreamCalls.LONG)) {
            full.upstream.close();
            assertThat(full.waiting.failure()).hasMessage("upstream 'triton' was taken out of service");
            assertThat(full.carried.failure()).hasMessage("upstream 'triton' was taken out of service");
        }
    }
}

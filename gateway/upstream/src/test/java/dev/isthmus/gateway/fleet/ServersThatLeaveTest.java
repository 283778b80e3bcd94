package dev.isthmus.gateway.fleet;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Servers that close their connections in the ways the protocols provide: no call fails. */
class ServersThatLeaveTest {
    private static final int CALLERS = 32;
    private static final int CALLS_EACH = 20;
    private static final int SERVED = 10;
    private static final int REFUSED_STREAM = 7;

    private final ClusterBench fleet = new ClusterBench();

    @AfterEach
    void nothingIsHeld() {
        fleet.close();
    }

    private Cluster grpc(Endpoint... servers) {
        return fleet.cluster(UpstreamProtocol.GRPC, Retry.DEFAULT.on(), null, servers);
    }

    /** The failures of many callers, each of which makes one call after another. */
    private List<String> failures(Callable<?> call) throws Exception {
        List<Future<List<String>>> callers = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < CALLERS; i++) {
                callers.add(threads.submit(() -> failuresOfOne(call)));
            }
        }
        List<String> failures = new ArrayList<>();
        for (Future<List<String>> caller : callers) {
            failures.addAll(caller.get());
        }
        return failures;
    }

    private static List<String> failuresOfOne(Callable<?> call) throws Exception {
        List<String> failures = new ArrayList<>();
        for (int i = 0; i < CALLS_EACH; i++) {
            try {
                call.call();
            } catch (ExecutionException e) {
                failures.add(String.valueOf(e.getCause()));
            }
        }
        return failures;
    }

    private static int serve(RawHttp2Connection peer, int calls) throws IOException {
        int last = 0;
        for (int i = 0; i < calls; i++) {
            last = peer.request();
            peer.respond(last);
        }
        return last;
    }

    @Test
    void goAwayAfterEveryTenCalls_failsNone() throws Exception {
        RawHttp2Server.Script script = peer -> {
            peer.hello();
            peer.words(Http2FrameTypes.GO_AWAY, 0, serve(peer, SERVED), 0);
            peer.awaitEnd();
        };
        try (var server = new RawHttp2Server(script)) {
            Cluster cluster = grpc(loopback(server.port()));
            assertThat(failures(() -> fleet.infer(cluster, 10).protobuf())).isEmpty();
            assertThat(fleet.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void goAwayThatWarnsFirst_failsNone() throws Exception {
        RawHttp2Server.Script script = peer -> {
            peer.hello();
            serve(peer, SERVED);
            peer.words(Http2FrameTypes.GO_AWAY, 0, Integer.MAX_VALUE, 0);
            peer.words(Http2FrameTypes.GO_AWAY, 0, serve(peer, 1), 0);
            peer.awaitEnd();
        };
        try (var one = new RawHttp2Server(script);
                var two = RawHttp2Server.responding(RawHttp2Connection::respond)) {
            Cluster cluster = grpc(loopback(one.port()), loopback(two.port()));
            for (int i = 0; i < 100; i++) {
                assertThat(fleet.infer(cluster, 10).protobuf()).containsExactly(7);
            }
            assertThat(fleet.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void everyOtherStreamRefused_failsNone() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            if (stream % 4 == 1) {
                peer.words(Http2FrameTypes.RST_STREAM, stream, REFUSED_STREAM);
            } else {
                peer.respond(stream);
            }
        })) {
            Cluster cluster = grpc(loopback(server.port()));
            // Sequentially: one of many concurrent calls could meet nothing but refusals.
            for (int i = 0; i < 100; i++) {
                assertThat(fleet.infer(cluster, 10).protobuf()).containsExactly(7);
            }
            assertThat(fleet.tries(CallOutcome.FAILED)).isZero();
        }
    }

    @Test
    void interimResponsesWithoutEnd_areABadResponse() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            while (true) {
                peer.headers(stream, false, ":status", "103");
            }
        })) {
            OipException failure =
                    fleet.infer(grpc(loopback(server.port())), 10).failure();
            assertThat(failure.code().httpStatus()).isEqualTo(502);
        }
    }

    @Test
    void closeAfterEveryResponseOverRest_failsNone() throws Exception {
        String response = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 14\r\n\r\n{\"outputs\":[]}";
        try (var server = FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, response);
            return false;
        })) {
            Cluster cluster = fleet.cluster(UpstreamProtocol.REST, Retry.DEFAULT.on(), null, server.endpoint());
            assertThat(failures(() -> {
                        fleet.infer(cluster, 10).inference().release();
                        return null;
                    }))
                    .isEmpty();
            assertThat(fleet.tries(CallOutcome.FAILED)).isZero();
        }
    }
}

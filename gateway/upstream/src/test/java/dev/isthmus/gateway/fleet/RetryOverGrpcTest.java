package dev.isthmus.gateway.fleet;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RetryOverGrpcTest {
    private static final Set<RetryOn> DEFAULT = Retry.DEFAULT.on();
    private static final Set<RetryOn> ALL = EnumSet.allOf(RetryOn.class);

    /** What a server does to every stream. */
    private enum Fault implements RawHttp2Server.Responder {
        REFUSED_STREAM,
        GOAWAY,
        RESET_CONNECTION;

        @Override
        public void respond(RawHttp2Connection connection, int streamId) throws IOException {
            switch (this) {
                case REFUSED_STREAM ->
                    connection.words(Http2FrameTypes.RST_STREAM, streamId, (int) Http2Error.REFUSED_STREAM.code());
                case GOAWAY -> connection.words(Http2FrameTypes.GO_AWAY, 0, 0, 0);
                case RESET_CONNECTION -> connection.reset();
            }
        }
    }

    private final ClusterBench fleet = new ClusterBench();

    @AfterEach
    void nothingIsHeld() {
        fleet.close();
    }

    private Cluster cluster(Set<RetryOn> on, Endpoint... servers) {
        return fleet.cluster(UpstreamProtocol.GRPC, on, null, servers);
    }

    private void infersFour(Cluster cluster) throws Exception {
        for (int i = 0; i < 4; i++) {
            assertThat(fleet.infer(cluster).protobuf()).hasSize(200_000);
        }
    }

    @Test
    void refusedConnection_isPassedOver() throws Exception {
        try (var other = FakeGrpcServer.echo()) {
            infersFour(cluster(DEFAULT, TestConfigs.unusedEndpoint(), other.endpoint()));
        }
    }

    /** The attempts at a single server that is busy, and says for how long. */
    private int attempts(String name, String value) throws Exception {
        AtomicInteger executed = new AtomicInteger();
        try (var server = FakeGrpcServer.unary((message, call) -> {
            executed.incrementAndGet();
            Metadata trailers = new Metadata();
            trailers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
            call.close(Status.UNAVAILABLE, trailers);
        })) {
            fleet.infer(cluster(DEFAULT, server.endpoint())).failure();
            return executed.get();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "retry-after, 3600, 1",
        "retry-after, 1, 2",
        "retry-after, soon, 2",
        "retry-after, 'Fri, 31 Dec 9999 23:59:59 GMT', 1",
        "retry-after, 'Thu, 01 Jan 1970 00:00:00 GMT', 2",
        "grpc-retry-pushback-ms, 3600000, 1",
        "grpc-retry-pushback-ms, 100, 2",
    })
    void serverDelay_isWaitedFor_orEndsTheCall(String name, String value, int attempts) throws Exception {
        assertThat(attempts(name, value)).isEqualTo(attempts);
    }

    @Test
    void refusedConnections_fail() throws Exception {
        OipException failure = fleet.infer(cluster(DEFAULT, TestConfigs.unusedEndpoint(), TestConfigs.unusedEndpoint()))
                .failure();
        assertThat(failure).hasMessage("upstream 'triton' is not reachable");
        assertThat(fleet.retries(RetryOn.UNSENT)).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSED_STREAM", "GOAWAY"})
    void streamThatTheServerHasNotBegun_isSentToAnother(Fault kind) throws Exception {
        try (var bad = RawHttp2Server.responding(kind);
                var other = FakeGrpcServer.echo()) {
            infersFour(cluster(DEFAULT, loopback(bad.port()), other.endpoint()));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            names = {"REFUSED_STREAM", "GOAWAY"})
    void streamThatNoServerBegins_failsAfterAFewMore(Fault kind) throws Exception {
        try (var one = RawHttp2Server.responding(kind);
                var two = RawHttp2Server.responding(kind)) {
            OipException failure = fleet.infer(cluster(DEFAULT, loopback(one.port()), loopback(two.port())))
                    .failure();
            assertThat(failure).hasMessage("upstream 'triton' accepts no more requests");
            assertThat(fleet.retries(RetryOn.UNSENT)).isEqualTo(10);
            assertThat(one.requests() + two.requests()).isEqualTo(11);
        }
    }

    @Test
    void lostConnection_isNotTriedAgain_withoutOptIn() throws Exception {
        try (var one = RawHttp2Server.responding(Fault.RESET_CONNECTION);
                var two = RawHttp2Server.responding(Fault.RESET_CONNECTION)) {
            OipException failure = fleet.infer(cluster(DEFAULT, loopback(one.port()), loopback(two.port())))
                    .failure();
            assertThat(failure.processed()).isEqualTo(Processed.MAYBE);
            assertThat(one.requests() + two.requests()).isEqualTo(1);
        }
    }

    @Test
    void lostConnection_isPassedOver_withOptIn() throws Exception {
        try (var bad = RawHttp2Server.responding(Fault.RESET_CONNECTION);
                var other = FakeGrpcServer.echo()) {
            infersFour(cluster(ALL, loopback(bad.port()), other.endpoint()));
        }
    }

    @Test
    void unavailable_isTriedElsewhereOnce() throws Exception {
        try (var one = FakeGrpcServer.failing(Status.UNAVAILABLE.withDescription("full"));
                var two = FakeGrpcServer.failing(Status.UNAVAILABLE.withDescription("full"))) {
            OipException failure = fleet.infer(cluster(DEFAULT, one.endpoint(), two.endpoint()))
                    .failure();
            assertThat(failure).hasMessage("full");
            assertThat(one.requests()).isEqualTo(1);
            assertThat(two.requests()).isEqualTo(1);
        }
    }

    @Test
    void errorOfTheRequest_isExecutedOnce() throws Exception {
        try (var one = FakeGrpcServer.failing(Status.INTERNAL);
                var two = FakeGrpcServer.failing(Status.INTERNAL)) {
            assertThat(fleet.infer(cluster(ALL, one.endpoint(), two.endpoint()))
                            .failure()
                            .code())
                    .isEqualTo(ErrorCode.INTERNAL);
            assertThat(one.requests() + two.requests()).isEqualTo(1);
        }
    }

    @Test
    void slowTry_isCancelled_andNotRepeatedWithoutOptIn() throws Exception {
        try (var one = FakeGrpcServer.silent();
                var two = FakeGrpcServer.silent()) {
            Cluster cluster = fleet.cluster(
                    UpstreamProtocol.GRPC, DEFAULT, Duration.ofMillis(500), one.endpoint(), two.endpoint());
            assertThat(fleet.infer(cluster).failure().message())
                    .matches("upstream 'triton' did not respond within \\d+ ms");
            assertThat(one.requests() + two.requests()).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void slowTry_isPassedOver_withOptIn() throws Exception {
        try (var slow = FakeGrpcServer.silent();
                var other = FakeGrpcServer.echo()) {
            infersFour(fleet.cluster(
                    UpstreamProtocol.GRPC, ALL, Duration.ofMillis(1500), slow.endpoint(), other.endpoint()));
        }
    }

    @Test
    void cancel_whileAServerIsSilent_reachesIt() throws Exception {
        try (var one = FakeGrpcServer.silent()) {
            RecordedReply reply = fleet.infer(cluster(ALL, one.endpoint()));
            one.request();
            reply.cancel();
            one.awaitCancelled();
            fleet.bench().settle();
            assertThat(reply.ended()).isFalse();
        }
    }
}

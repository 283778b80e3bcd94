package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GrpcUpstreamFailureTest {
    private static final ModelRef MODEL = ModelRef.of("simple");
    private static final int LIMIT = 1000;

    private final UpstreamBench bench = new UpstreamBench();
    private final List<GrpcUpstream> upstreams = new ArrayList<>();
    private final List<ByteBuf> bodies = new ArrayList<>();

    @AfterEach
    void nothingIsHeld() {
        upstreams.forEach(GrpcUpstream::close);
        try (bench) {
            bench.awaitNothingHeld();
        }
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
    }

    private GrpcUpstream upstream(Endpoint endpoint, Duration timeout) {
        var settings = UpstreamSettings.of("triton", endpoint, timeout, Duration.ofSeconds(2), LIMIT);
        GrpcUpstream upstream = new GrpcUpstream(settings, ServerCapabilities.unknown(), bench.allocator());
        upstreams.add(upstream);
        return upstream;
    }

    private GrpcUpstream upstream(FakeGrpcServer server) {
        return upstream(server.endpoint(), Duration.ofSeconds(60));
    }

    private RecordedReply infer(GrpcUpstream upstream, Call call) {
        ByteBuf body = bench.allocator().directBuffer(500_000).writeZero(500_000);
        bodies.add(body);
        return bench.send(reply -> upstream.send(
                call, new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body)), reply));
    }

    private OipException failure(FakeGrpcServer server) throws Exception {
        return infer(upstream(server), bench.call()).failure();
    }

    @ParameterizedTest
    @EnumSource(value = Status.Code.class, mode = EnumSource.Mode.EXCLUDE, names = "OK")
    void status_ofTheServer_keepsCodeAndDescription(Status.Code code) throws Exception {
        try (var server = FakeGrpcServer.failing(code.toStatus().withDescription("the server's words"))) {
            OipException failure = failure(server);
            assertThat(failure.code()).isEqualTo(ErrorCode.ofGrpcStatus(code.value()));
            assertThat(failure).hasMessage("the server's words");
        }
    }

    @Test
    void status_withoutDescription_isNamed() throws Exception {
        try (var server = FakeGrpcServer.failing(Status.NOT_FOUND)) {
            assertThat(failure(server)).hasMessage("upstream 'triton' returned NOT_FOUND");
        }
    }

    @Test
    void status_afterAMessage_isTheResponse() throws Exception {
        try (var server = FakeGrpcServer.unary((request, call) -> {
            call.sendHeaders(new Metadata());
            call.sendMessage(new byte[10]);
            call.close(Status.DATA_LOSS.withDescription("late"), new Metadata());
        })) {
            assertThat(failure(server).code()).isEqualTo(ErrorCode.DATA_LOSS);
        }
    }

    @Test
    void response_withoutMessage_isBad() throws Exception {
        try (var server = FakeGrpcServer.failing(Status.OK)) {
            OipException failure = failure(server);
            assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            assertThat(failure).hasMessage("upstream 'triton' sent no response message");
        }
    }

    @Test
    void response_withTwoMessages_isBad() throws Exception {
        try (var server = FakeGrpcServer.unary((request, call) -> {
            call.sendHeaders(new Metadata());
            call.sendMessage(new byte[10]);
            call.sendMessage(new byte[10]);
            call.close(Status.OK, new Metadata());
        })) {
            assertThat(failure(server)).hasMessage("upstream 'triton' sent more than one response message");
        }
    }

    @Test
    void response_aboveTheLimit_isBad() throws Exception {
        try (var server = FakeGrpcServer.responding(new byte[LIMIT + 1])) {
            OipException failure = failure(server);
            assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            assertThat(failure).hasMessageStartingWith("upstream 'triton' sent a response of more than 1000 bytes: ");
        }
    }

    @Test
    void response_atTheLimit_isTaken() throws Exception {
        try (var server = FakeGrpcServer.responding(new byte[LIMIT])) {
            assertThat(infer(upstream(server), bench.call()).protobuf()).hasSize(LIMIT);
        }
    }

    @Test
    void deadline_ofTheCall_endsItAndReachesTheServer() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            GrpcUpstream upstream = upstream(server);
            // With more time where the server has got nothing in less.
            for (int millis = 300; server.opened.isEmpty(); millis *= 2) {
                OipException failure = infer(upstream, bench.callWithin(Duration.ofMillis(millis)))
                        .failure();
                assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
                assertThat(failure.message()).startsWith("upstream 'triton' did not respond within ");
            }
            assertThat(server.headers().get(Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER)))
                    .isNotNull();
            server.awaitCancelled();
        }
    }

    @Test
    void deadline_thatHasPassed_sendsNothing() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            OipException failure = infer(upstream(server), bench.callWithin(Duration.ofSeconds(-1)))
                    .failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(server.requests()).isZero();
        }
    }

    @Test
    void timeout_ofTheUpstream_holdsForCallsWithoutDeadline() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            GrpcUpstream upstream = upstream(server.endpoint(), Duration.ofMillis(400));
            assertThat(infer(upstream, bench.call()).failure())
                    .hasMessage("upstream 'triton' did not respond within 400 ms");
        }
    }

    @Test
    void port_withoutServer_isUnavailableWithoutItsAddress() throws Exception {
        GrpcUpstream upstream = upstream(TestConfigs.unusedEndpoint(), Duration.ofSeconds(60));
        OipException failure = infer(upstream, bench.call()).failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(failure).hasMessage("upstream 'triton' is not reachable");
        assertThat(failure.getCause()).isNotNull();
    }

    @Test
    void cancel_reachesTheServer_andNoReplyFollows() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            RecordedReply reply = infer(upstream(server), bench.call());
            server.request();
            reply.cancel();
            server.awaitCancelled();
            reply.cancel();
            bench.settle();
            assertThat(reply.ended()).isFalse();
        }
    }

    @Test
    void cancel_beforeTheConnectionStands_releasesTheRequest() throws Exception {
        try (ServerSocket deaf = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            GrpcUpstream upstream = upstream(new Endpoint("127.0.0.1", deaf.getLocalPort()), Duration.ofSeconds(60));
            RecordedReply reply = infer(upstream, bench.call());
            reply.cancel();
            assertThat(bodies.get(0).refCnt()).isZero();
            assertThat(reply.ended()).isFalse();
        }
    }

    @Test
    void server_thatDiesUnderACall_isUnavailable() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            RecordedReply reply = infer(upstream(server), bench.call());
            server.request();
            server.stop();
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }

    @Test
    void close_endsCallsUnderWay_andRefusesNewOnes() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            GrpcUpstream upstream = upstream(server);
            RecordedReply reply = infer(upstream, bench.call());
            server.request();
            upstream.close();
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            OipException refused = infer(upstream, bench.call()).failure();
            assertThat(refused.code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(refused).hasMessage("upstream 'triton' was taken out of service");
        }
    }
}

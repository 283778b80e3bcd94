package dev.isthmus.gateway.fleet;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What clients cause counts as no failure of a server: neither for its ejection and the circuit breaker, which count the
 * outcomes UNAVAILABLE and FAILED, nor does it take retries from the budget.
 */
class ClientMistakesTest {
    private static final int CALLS = 15;
    private static final ModelRef MODEL = ModelRef.of("simple");

    private final ClusterBench fleet = new ClusterBench();

    @AfterEach
    void nothingIsHeld() {
        fleet.close();
    }

    /** All failures may be retried, and ten calls are enough for the breaker. */
    private Cluster cluster(UpstreamProtocol protocol, Endpoint server) {
        return fleet.cluster(
                TestConfigs.with(
                        TestConfigs.upstream(protocol, server),
                        Map.of(
                                "retry",
                                new Retry(3, EnumSet.allOf(RetryOn.class), 0.2, 4 << 20),
                                "breaker",
                                new Breaker(0.5, 100, 10, Duration.ofMinutes(1)))),
                System::nanoTime,
                server);
    }

    /** An inference with one client's request, once more than the breaker and any ejection need. */
    private void expect(Cluster cluster, boolean events, ErrorCode code, CallOutcome outcome) throws Exception {
        for (int i = 0; i < CALLS; i++) {
            assertThat(infer(cluster, fleet.bench().call(), events).failure().code())
                    .isEqualTo(code);
        }
        assertThat(fleet.tries(outcome)).isEqualTo(CALLS);
        assertThat(fleet.tries(CallOutcome.UNAVAILABLE) + fleet.tries(CallOutcome.FAILED))
                .isZero();
        for (RetryOn reason : RetryOn.values()) {
            assertThat(fleet.retries(reason)).isZero();
        }
    }

    /** @param events whether a stream of events is generated */
    private RecordedReply infer(Cluster cluster, Call call, boolean events) {
        ByteBuf body = fleet.bench().allocator().directBuffer(2).writeZero(2);
        UpstreamRequest request = switch (cluster.peer().wire()) {
            case PROTOBUF -> new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body));
            case REST, DECODED ->
                events
                        ? new UpstreamRequest.GenerateRequest(new Operation.Generate(MODEL, true), body)
                        : new UpstreamRequest.InferenceRequest(
                                MODEL, new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON)));
        };
        return fleet.bench().send(reply -> cluster.send(call, request, reply));
    }

    private void expectGrpc(RawHttp2Server.Responder responder, ErrorCode code, CallOutcome outcome) throws Exception {
        try (var server = RawHttp2Server.responding(responder)) {
            expect(cluster(UpstreamProtocol.GRPC, loopback(server.port())), false, code, outcome);
        }
    }

    private void expectRest(String response, ErrorCode code, CallOutcome outcome) throws Exception {
        try (var server = FakeRestServer.sending(response)) {
            expect(cluster(UpstreamProtocol.REST, server.endpoint()), false, code, outcome);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "400, INVALID_ARGUMENT",
        "401, UNAUTHENTICATED",
        "403, PERMISSION_DENIED",
        "404, UNIMPLEMENTED",
        "408, REQUEST_TIMEOUT",
        "413, PAYLOAD_TOO_LARGE",
        "429, RESOURCE_EXHAUSTED",
        "431, INVALID_ARGUMENT",
    })
    void refusalOfAProxy_inFrontOfAGrpcServer(String status, ErrorCode code) throws Exception {
        expectGrpc(
                (peer, stream) -> peer.headers(stream, true, ":status", status, "content-type", "text/html"),
                code,
                CallOutcome.ANSWERED);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 5, 6, 7, 8, 9, 10, 11, 12, 16})
    void grpcStatus_ofARequest(int status) throws Exception {
        expectGrpc(
                (peer, stream) -> peer.headers(
                        stream, true, ":status", "200", "grpc-status", Integer.toString(status), "grpc-message", "no"),
                ErrorCode.ofGrpcStatus(status),
                CallOutcome.ANSWERED);
    }

    /** Also with a text that is as long as the request that it quotes, or that quotes what a full queue is called. */
    @ParameterizedTest
    @ValueSource(strings = {"no", "unexpected inference input 'Exceeds maximum queue size' for model 'simple'"})
    void grpcStatus_ofAServerThatTakesThemForItsOwn(String text) throws Exception {
        expectGrpc(
                (peer, stream) -> peer.headers(
                        stream, true, ":status", "200", "grpc-status", "13", "grpc-message", text.repeat(2000)),
                ErrorCode.INTERNAL,
                CallOutcome.ERROR);
    }

    @Test
    void grpcResponse_thatIsTooLarge() throws Exception {
        expectGrpc(
                (peer, stream) -> {
                    peer.head(stream);
                    peer.send(Http2FrameTypes.DATA, 0, stream, (byte) 0, (byte) 0, (byte) 0x7f, (byte) 0, (byte) 0);
                },
                ErrorCode.BAD_UPSTREAM_ANSWER,
                CallOutcome.ANSWERED);
    }

    @ParameterizedTest
    @CsvSource({
        "400, INVALID_ARGUMENT, ANSWERED",
        "401, UNAUTHENTICATED, ANSWERED",
        "404, NOT_FOUND, ANSWERED",
        "413, PAYLOAD_TOO_LARGE, ANSWERED",
        "422, INVALID_ARGUMENT, ANSWERED",
        "429, RESOURCE_EXHAUSTED, ANSWERED",
        "500, INTERNAL, ERROR",
    })
    void restStatus_ofARequest(int status, ErrorCode code, CallOutcome outcome) throws Exception {
        expectRest("HTTP/1.1 " + status + " No\r\nContent-Length: 2\r\n\r\nno", code, outcome);
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "HTTP/1.1 200 OK\r\nX: %s\r\n\r\n"})
    void restResponse_thatIsTooLarge(String response) throws Exception {
        expectRest(response.formatted("x".repeat(20_000)), ErrorCode.BAD_UPSTREAM_ANSWER, CallOutcome.ANSWERED);
    }

    /** As MLServer does for a version that it does not have. */
    @Test
    void streamOfEvents_thatIsBrokenOff() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> {
            write(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            return false;
        })) {
            Cluster cluster = fleet.cluster(
                    TestConfigs.with(
                            TestConfigs.upstream(UpstreamProtocol.REST, server.endpoint()),
                            Map.of("breaker", new Breaker(0.5, 100, 10, Duration.ofMinutes(1)))),
                    System::nanoTime,
                    server.endpoint());
            expect(cluster, true, ErrorCode.INTERNAL, CallOutcome.ERROR);
        }
    }

    @Test
    void shortDeadline() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> true)) {
            Cluster cluster = cluster(UpstreamProtocol.REST, server.endpoint());
            for (int i = 0; i < CALLS; i++) {
                Call hasty = fleet.bench().callWithin(Duration.ofMillis(20));
                assertThat(infer(cluster, hasty, false).failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            }
            assertThat(fleet.tries(CallOutcome.FAILED)).isZero();
        }
    }
}

package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Deadlines of clients: how they are forwarded to servers, and what happens when they pass. Requests to "silent" get no
 * response.
 */
class DeadlineTest {
    private static final Pattern TIMEOUT =
            Pattern.compile("x-request-timeout-ms: (\\d+)\r\n", Pattern.CASE_INSENSITIVE);
    private static final long HOUR = TimeUnit.HOURS.toMillis(1);

    private FakeGrpcServer grpc;
    private FakeRestServer rest;
    private Stage toGrpc;
    private Stage toRest;

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                if (!Infer.request(message).getId().equals("silent")) {
                    call.sendMessage(Infer.responseTo(Infer.request(message), 1).toByteArray());
                    call.close(Status.OK, new Metadata());
                }
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {
                // The message ends the call, or nothing does.
            }
        });
        rest = FakeRestServer.that((request, out) -> {
            if (!request.body().contains("silent")) {
                write(out, ok(Infer.responseJson("m", "a", 1)));
            }
            return true;
        });
        toGrpc = Stage.of(Stage.grpc(grpc, ServerDialect.MLSERVER));
        toRest = Stage.of(Stage.rest(rest, ServerDialect.MLSERVER));
    }

    @AfterEach
    void stop() throws Exception {
        toGrpc.close();
        toRest.close();
        grpc.close();
        rest.close();
    }

    private static GrpcClient ask(Stage stage, String method, String id, CallOptions options) {
        GrpcClient client = GrpcClient.open(stage.channel(), method, new Metadata(), options, 10);
        client.send(Infer.request("m", id, 1).toByteArray());
        client.end();
        return client;
    }

    private long grpcDeadlineMillis() throws Exception {
        return requireNonNull(FakeGrpcServer.next(grpc.opened).deadline()).timeRemaining(TimeUnit.MILLISECONDS);
    }

    private long restTimeoutMillis() throws Exception {
        Matcher matcher = TIMEOUT.matcher(Stage.posted(rest).head());
        assertThat(matcher.find()).isTrue();
        return Long.parseLong(matcher.group(1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"X-Request-Timeout-Ms: 3600000", "grpc-timeout: 1H", "Grpc-Timeout: 3600S"})
    void restClient_serversLearnWhatIsLeft(String header) throws Exception {
        try (Http1Client one = toGrpc.http1();
                Http1Client other = toRest.http1()) {
            String path = "/v2/models/m/infer";
            one.post(path, Infer.json("a", 1), header).head();
            assertThat(grpcDeadlineMillis()).isBetween(HOUR - 60_000, HOUR);
            other.post(path, Infer.json("a", 1), header).head();
            assertThat(restTimeoutMillis()).isBetween(HOUR - 60_000, HOUR);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ModelInfer", "ModelStreamInfer"})
    void grpcClient_serversLearnWhatIsLeft(String method) throws Exception {
        CallOptions hour = CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.HOURS);
        ask(toGrpc, method, "a", hour).response();
        assertThat(grpcDeadlineMillis()).isBetween(HOUR - 60_000, HOUR);
        ask(toRest, method, "a", hour).response();
        assertThat(restTimeoutMillis()).isBetween(HOUR - 60_000, HOUR);
    }

    @Test
    void noDeadline_isNoHeader_andForAStreamNoTimeoutEither() throws Exception {
        ask(toRest, "ModelInfer", "a", CallOptions.DEFAULT).response();
        assertThat(Stage.posted(rest).head()).doesNotContainPattern(TIMEOUT);
        ask(toGrpc, "ModelStreamInfer", "a", CallOptions.DEFAULT).response();
        assertThat(FakeGrpcServer.next(grpc.opened).deadline()).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/v2/models/m/infer", "/v2/models/m/infer_stream"})
    void passed_restClient_isToldSo_andTheServersCallEnds(String path) throws Exception {
        try (Http1Client one = toGrpc.http1();
                Http1Client other = toRest.http1()) {
            // With more time where the server has got nothing in less.
            for (int millis = 300; grpc.opened.isEmpty(); millis *= 2) {
                Http1Client.Response ofGrpc = one.post(path, Infer.json("silent", 1), "X-Request-Timeout-Ms: " + millis)
                        .response();
                assertThat(ofGrpc.status()).isEqualTo(504);
                assertThat(ofGrpc.text()).contains("upstream 'server' did not respond within ");
            }
            assertThat(FakeGrpcServer.next(grpc.cancelled)).startsWith("Model");
            Http1Client.Response ofRest = other.post(path, Infer.json("silent", 1), "X-Request-Timeout-Ms: 300")
                    .response();
            assertThat(ofRest.status()).isEqualTo(504);
            assertThat(ofRest.text()).contains("upstream 'server' did not respond within ");
            rest.awaitConnectionClosed();
            assertThat(one.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ModelInfer", "ModelStreamInfer"})
    void passed_grpcClient_isToldSo_andTheServersCallEnds(String method) throws Exception {
        for (int seconds = 1; grpc.opened.isEmpty(); seconds *= 2) {
            CallOptions soon = CallOptions.DEFAULT.withDeadlineAfter(seconds, TimeUnit.SECONDS);
            assertThat(ask(toGrpc, method, "silent", soon).status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        }
        assertThat(FakeGrpcServer.next(grpc.cancelled)).isEqualTo(method);
        CallOptions soon = CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS);
        assertThat(ask(toRest, method, "silent", soon).status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        rest.awaitConnectionClosed();
    }

    /**
     * What uvicorn does after a model has raised an exception: it responds with 500, and closes the connection without
     * announcing it once it has logged the exception.
     */
    @Test
    void passed_behindAServerThatClosesAfterAFailure_isToldSo() throws Exception {
        Set<Integer> broken = ConcurrentHashMap.newKeySet();
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    if (!request.head().startsWith("POST")) {
                        write(out, ok("{}"));
                        return true;
                    }
                    boolean breaking = request.body().contains("breaking") && broken.add(request.connection());
                    if (breaking) {
                        write(out, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nraised");
                    }
                    return breaking || !broken.contains(request.connection());
                });
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            for (int i = 0; i < 3; i++) {
                GrpcClient failed = ask(stage, "ModelInfer", "breaking", CallOptions.DEFAULT);
                assertThat(failed.status().getCode()).isEqualTo(Status.Code.INTERNAL);
                CallOptions soon = CallOptions.DEFAULT.withDeadlineAfter(500, TimeUnit.MILLISECONDS);
                assertThat(ask(stage, "ModelInfer", "silent", soon).status().getCode())
                        .isEqualTo(Status.Code.DEADLINE_EXCEEDED);
            }
        }
    }

    private static byte[] framed(byte[] message) {
        byte[] framed = new byte[message.length + 5];
        framed[4] = (byte) message.length;
        System.arraycopy(message, 0, framed, 5, message.length);
        return framed;
    }

    /** The status sent by the gateway itself: this client enforces no deadline of its own. */
    @Test
    void passed_grpcClientThatOnlySaysSo_getsTheStatusOfTheGateway() throws Exception {
        try (Http2Client client = new Http2Client(toGrpc.port())) {
            byte[] framed = framed(Infer.request("m", "silent", 1).toByteArray());
            for (String method : List.of("ModelInfer", "ModelStreamInfer")) {
                Http2Client.Response response = client.post(
                        "/inference.GRPCInferenceService/" + method,
                        framed,
                        "content-type",
                        "application/grpc",
                        "grpc-timeout",
                        "300m");
                assertThat(response.trailers().get("grpc-status")).hasToString("4");
                assertThat(response.trailers().get("grpc-message").toString()).contains("did not respond within");
            }
        }
    }

    /** No server has a request, and could notice it. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void passed_streamWithoutARequestUnderWay_getsTheStatusOfTheGateway(int requests) throws Exception {
        try (Http2Client client = new Http2Client(toRest.port())) {
            byte[] message = Infer.request("m", "a", 1).toByteArray();
            Http2Client.Response response = client.begin(
                    "/inference.GRPCInferenceService/ModelStreamInfer",
                    "content-type",
                    "application/grpc",
                    "grpc-timeout",
                    "300m");
            for (int i = 0; i < requests; i++) {
                response.data(framed(message), 0, message.length + 5, false);
            }
            assertThat(response.trailers().get("grpc-status")).hasToString("4");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Request-Timeout-Ms: 0",
                "X-Request-Timeout-Ms: -1",
                "X-Request-Timeout-Ms: 1s",
                "X-Request-Timeout-Ms: 12345678901",
                "X-Request-Timeout-Ms:",
                "grpc-timeout: 5",
            })
    void malformed_isRefused(String header) throws Exception {
        try (Http1Client client = toRest.http1()) {
            Http1Client.Response response = client.post("/v2/models/m/infer", Infer.json("a", 1), header)
                    .response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.text()).containsIgnoringCase("timeout");
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }
}

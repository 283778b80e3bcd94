package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Shadow copies through a complete gateway: whatever the shadow does, the client receives the primary response. */
class ShadowTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Metadata.Key<String> MARK =
            Metadata.Key.of("isthmus-shadow", Metadata.ASCII_STRING_MARSHALLER);
    private static final String PATH = "/v2/models/m/infer";

    private final List<AutoCloseable> open = new ArrayList<>();
    /** Calls to which a server has not responded. */
    private final BlockingQueue<ServerCall<byte[], byte[]>> waiting = new LinkedBlockingQueue<>();

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    /** Responds with the request's number plus this. */
    private FakeGrpcServer adding(int more) throws IOException {
        return server((call, request) -> respond(call, request, Infer.value(request) + more));
    }

    /** Responds when the test does. */
    private FakeGrpcServer slow() throws IOException {
        return server((call, request) -> waiting.add(call));
    }

    private interface Behaviour {
        void respond(ServerCall<byte[], byte[]> call, ModelInferRequest request);
    }

    private FakeGrpcServer server(Behaviour behaviour) throws IOException {
        FakeGrpcServer server = new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                behaviour.respond(call, Infer.request(message));
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {
                // The message or the test ends the call.
            }
        });
        open.add(server);
        return server;
    }

    private static void respond(ServerCall<byte[], byte[]> call, ModelInferRequest request, int value) {
        call.sendMessage(Infer.responseTo(request, value).toByteArray());
        call.close(Status.OK, new Metadata());
    }

    private FakeRestServer restResponding(int value) throws IOException {
        FakeRestServer server = FakeRestServer.that((request, out) -> {
            write(out, ok(Infer.responseJson("m", "a", value)));
            return true;
        });
        open.add(server);
        return server;
    }

    private ShadowedProxy gateway(UpstreamConfig main, UpstreamConfig shadow, Duration timeout) throws Exception {
        ShadowedProxy gateway = new ShadowedProxy(main, shadow, timeout);
        open.add(gateway);
        return gateway;
    }

    private static void expectOverRest(ShadowedProxy gateway, int sent, int value) throws Exception {
        try (Http1Client client = gateway.http1()) {
            Http1Client.Response response =
                    client.post(PATH, Infer.json("a", sent)).response();
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.text()).isEqualTo(Infer.responseJson("m", "a", value));
        }
    }

    private static GrpcClient ask(ShadowedProxy gateway, int value) {
        GrpcClient client = GrpcClient.open(gateway.channel(), "ModelInfer", new Metadata(), CallOptions.DEFAULT, 10);
        client.send(Infer.request("m", "a", value).toByteArray());
        client.end();
        return client;
    }

    private static void expectOverGrpc(ShadowedProxy gateway, int sent, int value) throws Exception {
        GrpcClient client = ask(gateway, sent);
        assertThat(Infer.value(Infer.response(client.response()))).isEqualTo(value);
        assertThat(client.status().isOk()).isTrue();
    }

    @Test
    void shadow_getsTheSameRequest_marked_andIsEqual() throws Exception {
        FakeGrpcServer shadow = adding(1);
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(shadow), LONG);
        expectOverGrpc(gateway, 5, 6);
        gateway.awaitComparisons("equal", 1);
        assertThat(Infer.request(FakeGrpcServer.next(shadow.messages))).isEqualTo(Infer.request("m", "a", 5));
        assertThat(FakeGrpcServer.next(shadow.opened).headers().get(MARK)).isEqualTo("true");
    }

    @Test
    void wrongShadow_isSeen_andTheClientGetsTheMainResponse() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(adding(4)), LONG);
        expectOverGrpc(gateway, 5, 6);
        expectOverRest(gateway, 7, 8);
        gateway.awaitComparisons("different", 2);
        assertThat(gateway.worstDifference()).isEqualTo(3);
    }

    @Test
    void grpcMain_restShadow_areCompared() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.rest(restResponding(6)), LONG);
        expectOverGrpc(gateway, 5, 6);
        expectOverRest(gateway, 5, 6);
        gateway.awaitComparisons("equal", 2);
    }

    @Test
    void restMain_grpcShadow_areCompared() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.rest(restResponding(6)), ShadowedProxy.grpc(adding(3)), LONG);
        expectOverRest(gateway, 5, 6);
        expectOverGrpc(gateway, 5, 6);
        gateway.awaitComparisons("different", 2);
        assertThat(gateway.worstDifference()).isEqualTo(2);
    }

    @Test
    void deadShadow_failsAlone() throws Exception {
        ShadowedProxy gateway =
                gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(TestConfigs.unusedEndpoint()), LONG);
        expectOverGrpc(gateway, 5, 6);
        expectOverRest(gateway, 5, 6);
        gateway.awaitRequests("failed", 2);
    }

    @Test
    void shadowThatHangsUp_failsAlone() throws Exception {
        FakeRestServer rude = FakeRestServer.that((request, out) -> false);
        open.add(rude);
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.rest(rude), LONG);
        expectOverGrpc(gateway, 5, 6);
        gateway.awaitRequests("failed", 1);
    }

    @Test
    void shadowThatRefuses_failsAlone() throws Exception {
        FakeGrpcServer refusing =
                server((call, request) -> call.close(Status.INVALID_ARGUMENT.withDescription("no"), new Metadata()));
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(refusing), LONG);
        expectOverRest(gateway, 5, 6);
        gateway.awaitRequests("failed", 1);
    }

    @Test
    void slowShadow_isNotWaitedFor_andEndsByItsOwnTimeout() throws Exception {
        FakeGrpcServer slow = slow();
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(slow), Duration.ofSeconds(1));
        // Again where the shadow has not got its copy in this time.
        for (int copies = 1; waiting.isEmpty(); copies++) {
            expectOverGrpc(gateway, 5, 6);
            gateway.awaitRequests("timeout", copies);
        }
        assertThat(FakeGrpcServer.next(slow.cancelled)).isEqualTo("ModelInfer");
    }

    @Test
    void shadowThatRespondsLate_isComparedStill() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(slow()), LONG);
        expectOverRest(gateway, 5, 6);
        respond(FakeGrpcServer.next(waiting), Infer.request("m", "a", 5), 6);
        gateway.awaitComparisons("equal", 1);
    }

    @Test
    void clientThatGoes_leavesTheShadowItsCall() throws Exception {
        FakeGrpcServer main = slow();
        FakeGrpcServer shadow = adding(0);
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(main), ShadowedProxy.grpc(shadow), LONG);
        GrpcClient client = ask(gateway, 5);
        FakeGrpcServer.next(waiting);
        gateway.awaitRequests("answered", 1);
        client.cancel();
        assertThat(FakeGrpcServer.next(main.cancelled)).isEqualTo("ModelInfer");
    }

    @Test
    void clientThatGoes_whileTheShadowRuns_leavesNothing() throws Exception {
        FakeGrpcServer main = slow();
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(main), ShadowedProxy.grpc(slow()), LONG);
        GrpcClient client = ask(gateway, 5);
        ServerCall<byte[], byte[]> one = FakeGrpcServer.next(waiting);
        ServerCall<byte[], byte[]> other = FakeGrpcServer.next(waiting);
        client.cancel();
        assertThat(FakeGrpcServer.next(main.cancelled)).isEqualTo("ModelInfer");
        respond(one.isCancelled() ? other : one, Infer.request("m", "a", 5), 6);
        gateway.awaitRequests("answered", 1);
    }

    @Test
    void mainThatFails_failsAsItDoes_andTheShadowResponds() throws Exception {
        FakeGrpcServer failing =
                server((call, request) -> call.close(Status.INTERNAL.withDescription("broken"), new Metadata()));
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(failing), ShadowedProxy.grpc(adding(0)), LONG);
        assertThat(ask(gateway, 5).status().getCode()).isEqualTo(Status.Code.INTERNAL);
        gateway.awaitRequests("answered", 1);
    }

    @Test
    void stream_isNotCopied() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(adding(1)), LONG);
        try (Http1Client client = gateway.http1()) {
            client.post("/v2/models/m/infer_stream", Infer.json("a", 5)).head();
            gateway.awaitRequests("left_out", 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"""
                {"inputs":[{"name":"a","datatype":"INT32","shape":[1],
                "parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]}""", """
                {"inputs":[{"name":"a","datatype":"INT32","shape":[1],"data":[1]}],"outputs":[{"name":"OUTPUT0",
                "parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]}"""})
    void sharedMemory_isNotCopied(String request) throws Exception {
        FakeRestServer shadow = restResponding(6);
        ShadowedProxy gateway = gateway(ShadowedProxy.sharing(restResponding(6)), ShadowedProxy.sharing(shadow), LONG);
        try (Http1Client client = gateway.http1()) {
            assertThat(client.post(PATH, request).response().status()).isEqualTo(200);
        }
        gateway.awaitRequests("left_out", 1);
    }

    @Test
    void endOfTheGateway_endsTheShadowsCall() throws Exception {
        ShadowedProxy gateway = gateway(ShadowedProxy.grpc(adding(1)), ShadowedProxy.grpc(slow()), LONG);
        expectOverGrpc(gateway, 5, 6);
        FakeGrpcServer.next(waiting);
    }
}

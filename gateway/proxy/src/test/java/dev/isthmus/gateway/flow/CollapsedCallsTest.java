package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Equal concurrent requests that share one call, on different event loops, between real clients and servers. */
class CollapsedCallsTest {
    private static final Duration BOUND = Duration.ofSeconds(20);

    private final List<AutoCloseable> open = new ArrayList<>();
    private final List<ManagedChannel> channels = new ArrayList<>();
    /** The inferences that wait for the test. */
    private final BlockingQueue<Held> held = new LinkedBlockingQueue<>();

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeGrpcServer server;

    @SuppressWarnings("NullAway.Init") // set before each test
    private CachedStage stage;

    /** An inference at the server. */
    private record Held(ServerCall<byte[], byte[]> call, ModelInferRequest request) {
        void respond() {
            FakeGrpcServer.respond(call, CachedStage.response(request).toByteArray());
        }
    }

    @BeforeEach
    void start() throws Exception {
        server = CachedStage.server((message, call) -> held.add(new Held(call, Infer.request(message))));
        open.add(server);
        stage = CachedStage.of(Stage.grpc(server, ServerDialect.TRITON), Map.of("ttl", Duration.ZERO));
        open.add(stage);
    }

    @AfterEach
    void stop() throws Exception {
        channels.forEach(ManagedChannel::shutdownNow);
        for (ManagedChannel channel : channels) {
            assertThat(channel.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
        }
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    private GrpcClient call(String id, int value, CallOptions options) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1", stage.stage().port())
                .usePlaintext()
                .directExecutor()
                .build();
        channels.add(channel);
        GrpcClient client = GrpcClient.open(channel, "ModelInfer", new Metadata(), options, 10);
        client.send(Infer.request("m", id, value).toByteArray());
        client.end();
        return client;
    }

    private GrpcClient call(String id, int value) {
        return call(id, value, CallOptions.DEFAULT);
    }

    private Held next() throws Exception {
        return Objects.requireNonNull(held.poll(20, TimeUnit.SECONDS), "no inference at the server");
    }

    /** The gateway has received all of these requests. */
    private void received(int requests) {
        received(stage, requests);
    }

    private static void received(CachedStage by, int requests) {
        await().atMost(BOUND)
                .until(() -> by.stage()
                                .proxy()
                                .meters()
                                .get("isthmus.cache.waiting")
                                .gauge()
                                .value()
                        == requests);
    }

    private static void assertResponse(GrpcClient client, String id) throws Exception {
        assertThat(client.status()).isEqualTo(Status.OK);
        ModelInferResponse response = Infer.response(client.response());
        assertThat(response.getId()).isEqualTo(id);
        assertThat(Infer.value(response)).isEqualTo(1);
    }

    @Test
    void equalRequests_areSentOnce() throws Exception {
        List<GrpcClient> clients = new ArrayList<>(List.of(call("0", 1)));
        Held first = next();
        for (int i = 1; i < 12; i++) {
            clients.add(call(Integer.toString(i), 1));
        }
        received(11);
        first.respond();
        for (int i = 0; i < 12; i++) {
            assertResponse(clients.get(i), Integer.toString(i));
        }
        assertThat(held).isEmpty();
        await().atMost(BOUND).until(() -> stage.count("collapsed") == 11);
        assertThat(stage.count("miss")).isEqualTo(1);
    }

    @Test
    void otherRequests_doNotWait() throws Exception {
        GrpcClient one = call("a", 1);
        Held first = next();
        GrpcClient other = call("b", 2);
        next().respond();
        assertThat(other.status()).isEqualTo(Status.OK);
        first.respond();
        assertResponse(one, "a");
    }

    @Test
    void withoutTtl_nothingIsKept() throws Exception {
        for (int i = 0; i < 2; i++) {
            GrpcClient one = call("a", 1);
            next().respond();
            assertResponse(one, "a");
        }
    }

    @Test
    void clientThatCancels_doesNotEndTheCallOfOthers() throws Exception {
        GrpcClient first = call("a", 1);
        Held sent = next();
        GrpcClient second = call("b", 1);
        GrpcClient third = call("c", 1);
        received(2);
        first.cancel();
        assertThat(first.status().getCode()).isEqualTo(Status.Code.CANCELLED);
        third.cancel();
        received(1);
        sent.respond();
        assertResponse(second, "b");
        assertThat(held).isEmpty();
        assertThat(server.cancelled).isEmpty();
    }

    @Test
    void serversCall_endsWithTheLastClient() throws Exception {
        GrpcClient first = call("a", 1);
        next();
        GrpcClient second = call("b", 1);
        received(1);
        first.cancel();
        second.cancel();
        assertThat(server.cancelled.poll(20, TimeUnit.SECONDS)).isNotNull();
        // The next one is sent anew.
        GrpcClient third = call("c", 1);
        next().respond();
        assertResponse(third, "c");
    }

    @Test
    void failure_isThatOfAll() throws Exception {
        GrpcClient first = call("a", 1);
        Held sent = next();
        GrpcClient second = call("b", 1);
        received(1);
        sent.call().close(Status.INTERNAL.withDescription("as asked"), new Metadata());
        for (GrpcClient each : List.of(first, second)) {
            assertThat(each.status().getCode()).isEqualTo(Status.Code.INTERNAL);
        }
        assertThat(held).isEmpty();
    }

    @Test
    void deadline_isThatOfItsOwnClient() throws Exception {
        GrpcClient first = call("a", 1, CallOptions.DEFAULT.withDeadlineAfter(6, TimeUnit.SECONDS));
        next();
        GrpcClient second = call("b", 1);
        received(1);
        assertThat(first.status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        // It is sent again for those who have more time.
        next().respond();
        assertResponse(second, "b");
    }

    @Test
    void deadline_ofOneThatWaits_endsOnlyIt() throws Exception {
        GrpcClient first = call("a", 1);
        Held sent = next();
        GrpcClient second = call("b", 1, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS));
        assertThat(second.status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        sent.respond();
        assertResponse(first, "a");
    }

    /** Also if the client that sent the first request is gone, and if the response is too large to be shared. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void responseTooLargeToBeShared_isSentToEachOnItsOwn(boolean gone) throws Exception {
        GrpcClient first = call("a", 1);
        Held sent = next();
        GrpcClient second = call("b", 1);
        received(1);
        if (gone) {
            first.cancel();
        }
        ModelInferResponse large = Infer.responseTo(sent.request(), ByteString.copyFrom(new byte[2 << 20]));
        FakeGrpcServer.respond(sent.call(), large.toByteArray());
        next().respond();
        assertResponse(second, "b");
        if (!gone) {
            assertThat(first.status()).isEqualTo(Status.OK);
        }
    }

    @Test
    void invalidResponse_isThatOfAll_andIsNotKept() throws Exception {
        CachedStage keeping = CachedStage.of(Stage.grpc(server, ServerDialect.TRITON), Map.of());
        open.add(keeping);
        try (Http1Client first = keeping.stage().http1();
                Http1Client second = keeping.stage().http1()) {
            first.post(CachedStage.PATH, Infer.json("a", 1));
            Held sent = next();
            second.post(CachedStage.PATH, Infer.json("b", 1));
            received(keeping, 1);
            ModelInferResponse invalid = CachedStage.response(sent.request()).toBuilder()
                    .clearRawOutputContents()
                    .addRawOutputContents(ByteString.EMPTY)
                    .build();
            FakeGrpcServer.respond(sent.call(), invalid.toByteArray());
            assertThat(first.response().status()).isEqualTo(502);
            assertThat(second.response().status()).isEqualTo(502);
            second.post(CachedStage.PATH, Infer.json("c", 1));
            next().respond();
            assertThat(second.response().status()).isEqualTo(200);
        }
    }

    @Test
    void restClients_shareTheCallsOfGrpcClients() throws Exception {
        GrpcClient first = call("a", 1);
        Held sent = next();
        try (Http1Client rest = stage.stage().http1()) {
            rest.post(CachedStage.PATH, Infer.json("b", 1));
            received(1);
            sent.respond();
            Http1Client.Response response = rest.response();
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.text()).contains("\"id\":\"b\"", "\"data\":[1]");
            assertThat(response.header("cache-status")).isEqualTo("isthmus; fwd=miss; collapsed");
        }
        assertResponse(first, "a");
    }
}

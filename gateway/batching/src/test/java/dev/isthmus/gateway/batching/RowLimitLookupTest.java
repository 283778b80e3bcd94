package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.batching.RouteBatching.RowLimitLookup;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.ReplicaSet;
import dev.isthmus.gateway.fleet.UncheckedReplicas;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many rows are joined if servers say how many they take. */
class RowLimitLookupTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String ANSWER = "{\"model_name\":\"m\",\"outputs\":[]}";

    private RowServer server;
    private BatchingBench bench;
    private final List<RecordedReply> replies = new ArrayList<>();

    @BeforeEach
    void open() throws Exception {
        server = new RowServer();
        bench = BatchingBench.withConfigurations(server.endpoint(), Wire.PROTOBUF);
    }

    @AfterEach
    void nothingIsHeld() throws Exception {
        for (RecordedReply each : replies) {
            each.response().release();
        }
        bench.close();
        server.close();
    }

    private void send() {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName("m");
        request.addInputsBuilder()
                .setName("IN")
                .setDatatype("UINT8")
                .addShape(1)
                .addShape(1);
        request.addRawInputContents(ByteString.copyFromUtf8("a"));
        replies.add(bench.send(request.build().toByteArray()));
    }

    /** One request at the server, and one that waits for it. */
    private RowServer.HeldRequest oneWaits() throws Exception {
        send();
        RowServer.HeldRequest first = server.next();
        send();
        bench.settle();
        return first;
    }

    private void awaitLimit(int requests) {
        await().atMost(PATIENCE).until(() -> bench.limit() == requests);
    }

    @Test
    void callHasNoMoreRowsThanTheServerTakes() throws Exception {
        server.maxBatchSize = 4;
        RowServer.HeldRequest first = oneWaits();
        awaitLimit(4);
        for (int i = 0; i < 4; i++) {
            send();
        }
        RowServer.HeldRequest full = server.next();
        assertThat(full.rows()).isEqualTo(4);
        full.answer();
        first.answer();
        server.next().answer();
        assertThat(server.configurationsRead).hasValue(1);
    }

    @Test
    void modelThatDoesNotBatch_getsItsRequestsAlone_untilItIsLoadedAgain() throws Exception {
        server.maxBatchSize = 0;
        RowServer.HeldRequest first = oneWaits();
        awaitLimit(1);
        send();
        server.next().answer();
        assertThat(bench.requests("refused")).isEqualTo(1);
        first.answer();
        server.next().answer();
        server.maxBatchSize = 8;
        bench.changed();
        send();
        server.next().answer();
        awaitLimit(8);
        assertThat(server.configurationsRead).hasValue(2);
    }

    /** A server without configurations, and one that takes more. */
    @ParameterizedTest
    @ValueSource(ints = {-1, 1000})
    void configuredNumber_isNotExceeded(int maxBatchSize) throws Exception {
        server.maxBatchSize = maxBatchSize;
        RowServer.HeldRequest first = oneWaits();
        await().atMost(PATIENCE).until(() -> server.configurationsRead.get() == 1);
        for (int i = 0; i < 31; i++) {
            send();
        }
        RowServer.HeldRequest full = server.next();
        assertThat(full.rows()).isEqualTo(32);
        full.answer();
        first.answer();
        assertThat(server.configurationsRead).hasValue(1);
        assertThat(bench.limit()).isEqualTo(32);
    }

    @Test
    void serverThatCannotBeAsked_doesNotKeepAnotherFromIt() {
        FakeUpstream broken = new FakeUpstream();
        broken.beforeReturn = received -> {
            throw new IllegalStateException("broken");
        };
        FakeUpstream other = new FakeUpstream();
        Endpoint[] endpoints = {TestConfigs.loopback(1), TestConfigs.loopback(2), TestConfigs.loopback(3)};
        ReplicaSet replicas = UncheckedReplicas.replicas(
                at -> at.address().port() == 2 ? other : broken, bench.meters, System::nanoTime, endpoints);
        EmbeddedChannel channel = new EmbeddedChannel();
        List<Integer> found = new ArrayList<>();
        try (Cluster cluster = new Cluster(
                "triton",
                TestConfigs.upstream(UpstreamProtocol.GRPC, endpoints),
                ServerCapabilities.unknown(),
                replicas,
                () -> {})) {
            Call call = new Call(
                    new Operation.ServerReady(),
                    Call.NO_DEADLINE,
                    Map.of(),
                    channel.eventLoop(),
                    ByteBufAllocator.DEFAULT);
            RowLimitLookup.begin(cluster, BatchingBench.MODEL, call, found::add);
            channel.runPendingTasks();
            assertThat(broken.requests).hasSize(2);
            other.only().reply.only(new ReplyMessage.Document(Unpooled.wrappedBuffer(RowServer.configuration(4))));
        }
        assertThat(found).containsExactly(4);
    }

    @Test
    void serverOverRest_isAskedToo() throws Exception {
        CountDownLatch known = new CountDownLatch(1);
        try (FakeRestServer rest = FakeRestServer.that((request, out) -> {
            boolean config = request.head().startsWith("GET /v2/models/m/config ");
            if (!config) {
                awaitUninterruptibly(known);
            }
            FakeRestServer.write(out, FakeRestServer.ok(config ? "{\"name\":\"m\",\"max_batch_size\":2}" : ANSWER));
            return true;
        })) {
            assertLimitOf(rest.endpoint(), known);
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void assertLimitOf(Endpoint server, CountDownLatch known) throws Exception {
        try (BatchingBench bench = BatchingBench.withConfigurations(server, Wire.REST)) {
            byte[] request = "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}]}"
                    .getBytes(StandardCharsets.UTF_8);
            RecordedReply first = bench.send(request);
            bench.settle();
            RecordedReply second = bench.send(request);
            await().atMost(PATIENCE).until(() -> bench.limit() == 2);
            known.countDown();
            first.response().release();
            second.response().release();
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of 16 MiB through a gateway that does not buffer them. */
class LargeRequestsTest {
    private static final String INFER = "ModelInfer";
    private static final int LARGE = 16 << 20;

    private FakeGrpcServer one;
    private FakeGrpcServer two;
    private ProxyServer gateway;
    private ManagedChannel channel;

    private static FakeGrpcServer server() throws Exception {
        return new FakeGrpcServer((call, message) ->
                call.sendMessage(Infer.responseTo(Infer.request(message), 1).toByteArray()));
    }

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        one = server();
        two = server();
        Path config = Files.writeString(directory.resolve("isthmus.yaml"), """
                        listeners: [{host: 127.0.0.1, port: 0}]
                        limits: {max_body_size: 64MiB}
                        upstreams:
                          one: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"]}
                          two: {protocol: grpc, endpoints: ["127.0.0.1:%2$d"]}
                          both: {protocol: grpc, endpoints: ["127.0.0.1:%1$d", "127.0.0.1:%2$d"]}
                          half: {protocol: grpc, endpoints: ["127.0.0.1:%1$d", "127.0.0.1:%3$d"], outliers: {consecutive_failures: 0}}
                        models:
                          renamed: {upstream: one, model: quite_another_name, version: "12"}
                          unnamed: {upstream: one, model: m}
                          half: {upstream: half}
                          sequence: {upstream: both}
                          ruled:
                            targets: [{upstream: one}, {upstream: two, weight: 0}]
                            rules: [{parameters: {to: two}, target: two}]
                        default_upstream: one
                        """.formatted(
                        one.endpoint().port(),
                        two.endpoint().port(),
                        TestConfigs.unusedEndpoint().port()));
        gateway = ProxyServer.start(ConfigLoader.load(config));
        channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1", gateway.addresses().get(0).getPort())
                .usePlaintext()
                .directExecutor()
                .build();
    }

    @AfterEach
    void stop() {
        channel.shutdownNow();
        await().atMost(Duration.ofSeconds(10)).until(channel::isTerminated);
        gateway.close();
        one.close();
        two.close();
    }

    private static ModelInferRequest.Builder request(String model) {
        byte[] random = new byte[LARGE];
        new Random(LARGE).nextBytes(random);
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId("1")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(LARGE / 8))
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("y")
                        .setDatatype("INT64")
                        .addShape(LARGE / 16))
                .addRawInputContents(ByteString.copyFrom(random, 0, LARGE / 2))
                .addRawInputContents(ByteString.copyFrom(random, LARGE / 2, LARGE / 2));
    }

    /** Sends the request; the server must receive {@code expected}. */
    private void assertArrives(FakeGrpcServer server, ModelInferRequest sent, ModelInferRequest expected)
            throws Exception {
        GrpcClient client = GrpcClient.ask(channel, INFER, new Metadata(), sent.toByteArray());
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(Infer.response(client.response()).getModelName()).isEqualTo(sent.getModelName());
        assertThat(Infer.request(FakeGrpcServer.next(server.messages)).equals(expected))
                .isTrue();
        assertThat(server.messages).isEmpty();
    }

    @Test
    void request_arrivesAsItIs() throws Exception {
        ModelInferRequest request = request("m").build();
        assertArrives(one, request, request);
        assertArrives(one, request, request);
    }

    @ParameterizedTest
    @CsvSource({"renamed, quite_another_name, 12", "unnamed, m, ''"})
    void request_ofAModelWithAnotherName_isRenamed(String requested, String name, String version) throws Exception {
        ModelInferRequest.Builder request = request(requested);
        assertArrives(
                one,
                request.build(),
                request.clone().setModelName(name).setModelVersion(version).build());
    }

    @Test
    void request_goesByRulesOnItsParameters() throws Exception {
        ModelInferRequest.Builder request = request("ruled");
        assertArrives(one, request.build(), request.build());
        request.putParameters(
                "to", InferParameter.newBuilder().setStringParam("two").build());
        assertArrives(two, request.build(), request.build());
    }

    @Test
    void requests_ofASequence_goToOneServer() throws Exception {
        ModelInferRequest.Builder request = request("sequence")
                .putParameters(
                        "sequence_id",
                        InferParameter.newBuilder().setInt64Param(7).build());
        for (int i = 0; i < 4; i++) {
            GrpcClient client = GrpcClient.ask(
                    channel, INFER, new Metadata(), request.build().toByteArray());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
        assertThat(Set.of(one.messages.size(), two.messages.size())).isEqualTo(new HashSet<>(Set.of(0, 4)));
    }

    @Test
    void serverThatCannotBeReached_isPassedOver_withNothingLost() throws Exception {
        ModelInferRequest request = request("half").build();
        for (int i = 0; i < 6; i++) {
            assertArrives(one, request, request);
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.BinaryRequest.Body;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * With {@code limits.max_tensors} set to 3, three inputs, requested outputs or outputs are accepted, and four are
 * rejected.
 */
class MaxTensorsTest {
    private static final int LARGE = 400_000;

    private FakeGrpcServer grpc;
    private FakeRestServer rest;
    private ProxyServer gateway;
    private ManagedChannel channel;
    private Http1Client http1;

    /** Responds with as many outputs as the number at the end of the request's id. */
    private static ModelInferResponse response(ModelInferRequest request) {
        ModelInferResponse.Builder response = ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setId(request.getId());
        for (int i = 0; i < Integer.parseInt(request.getId()); i++) {
            response.addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                            .setName("y" + i)
                            .setDatatype("UINT8")
                            .addShape(1))
                    .addRawOutputContents(ByteString.copyFrom(new byte[1]));
        }
        return response.build();
    }

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer((call, message) ->
                call.sendMessage(response(Infer.request(message)).toByteArray()));
        rest = FakeRestServer.that((seen, out) -> {
            int count = seen.body().contains("\"4\"") ? 4 : 1;
            FakeRestServer.write(
                    out, FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[" + jsonTensors("y", count) + "]}"));
            return true;
        });
        gateway = ProxyServer.start(ConfigLoader.parse(
                "f.yaml",
                """
                listeners: [{host: 127.0.0.1, port: 0}]
                limits: {max_tensors: 3}
                answers: {errors: passed}
                upstreams:
                  grpc: {protocol: grpc, dialect: triton, endpoints: ["%s"]}
                  rest: {protocol: rest, dialect: mlserver, endpoints: ["%s"]}
                models: {grpc: {upstream: grpc}, rest: {upstream: rest}}
                """.formatted(grpc.endpoint().authority(), rest.endpoint().authority()),
                Path.of(".")));
        channel = NettyChannelBuilder.forAddress("127.0.0.1", port())
                .usePlaintext()
                .directExecutor()
                .build();
        http1 = new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    @AfterEach
    void stop() throws Exception {
        http1.close();
        channel.shutdownNow();
        gateway.close();
        grpc.close();
        rest.close();
    }

    private int port() {
        return gateway.addresses().get(0).getPort();
    }

    private static String jsonTensors(String name, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> "{\"name\":\"" + name + i + "\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1.5]}")
                .collect(Collectors.joining(","));
    }

    private static String jsonOutputs(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> "{\"name\":\"y" + i + "\"}")
                .collect(Collectors.joining(",", "[", "]"));
    }

    private static ModelInferRequest.Builder head(String model, int inputs, int outputs, int extent) {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName(model).setId("1");
        for (int i = 0; i < inputs; i++) {
            request.addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("x" + i)
                    .setDatatype("UINT8")
                    .addShape(extent));
        }
        for (int i = 0; i < outputs; i++) {
            request.addOutputs(
                    ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("y" + i));
        }
        return request;
    }

    private static ModelInferRequest raw(String model, int inputs, int outputs, int extent) {
        ModelInferRequest.Builder request = head(model, inputs, outputs, extent);
        for (int i = 0; i < inputs; i++) {
            request.addRawInputContents(ByteString.copyFrom(new byte[extent]));
        }
        return request.build();
    }

    private static ModelInferRequest typed(String model, int inputs, int outputs) {
        ModelInferRequest.Builder request = head(model, inputs, outputs, 1);
        request.getInputsBuilderList()
                .forEach(input ->
                        input.setContents(InferTensorContents.newBuilder().addUintContents(7)));
        return request.build();
    }

    private Status grpc(ModelInferRequest request) throws Exception {
        return GrpcClient.ask(channel, "ModelInfer", new Metadata(), request.toByteArray())
                .status();
    }

    private static void expectRefused(Status status, String what) {
        assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(status.getDescription()).isEqualTo(what + ": at most 3 are accepted");
    }

    private static void expectRefused(Http1Client.Response response, String what) {
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.text()).isEqualTo("{\"error\":\"" + what + ": at most 3 are accepted\"}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void protobuf(String model) throws Exception {
        assertThat(grpc(raw(model, 3, 3, 1)).getCode()).isEqualTo(Status.Code.OK);
        assertThat(grpc(typed(model, 3, 3)).getCode()).isEqualTo(Status.Code.OK);
        expectRefused(grpc(raw(model, 4, 0, 1)), "inputs");
        expectRefused(grpc(typed(model, 4, 0)), "inputs");
        expectRefused(grpc(raw(model, 1, 4, 1)), "requested outputs");
        expectRefused(grpc(typed(model, 1, 4)), "requested outputs");
    }

    /** Rejected when its headers have arrived; the server does not see it. */
    @ParameterizedTest
    @CsvSource({"4, 0, inputs", "1, 4, requested outputs"})
    void protobufInParts(int inputs, int outputs, String what) throws Exception {
        byte[] message = Infer.framed(raw("grpc", inputs, outputs, LARGE));
        try (RecordingHttp2Peer client = RecordingHttp2Peer.client(port())) {
            RecordingHttp2Peer.Stream call = client.infer();
            call.data(message, 0, message.length / 2, false);
            assertThat(call.status()).isEqualTo("3");
            assertThat(call.fields.getOrDefault("grpc-message", "").replace("%20", " "))
                    .isEqualTo(what + ": at most 3 are accepted");
        }
        assertThat(grpc.messages).isEmpty();
        assertThat(grpc(raw("grpc", 3, 3, LARGE)).getCode()).isEqualTo(Status.Code.OK);
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void json(String model) throws Exception {
        String path = "/v2/models/" + model + "/infer";
        String body = "{\"id\":\"1\",\"inputs\":[%s],\"outputs\":%s}";
        assertThat(http1.post(path, body.formatted(jsonTensors("x", 3), jsonOutputs(3)))
                        .response()
                        .status())
                .isEqualTo(200);
        expectRefused(
                http1.post(path, body.formatted(jsonTensors("x", 4), "[]")).response(), "inputs");
        expectRefused(
                http1.post(path, body.formatted(jsonTensors("x", 1), jsonOutputs(4)))
                        .response(),
                "outputs");
    }

    @ParameterizedTest
    @CsvSource({"grpc, 4", "rest, 4", "grpc, 400000"})
    void binary(String model, int bytes) throws Exception {
        for (int count = 3; count <= 4; count++) {
            String[] inputs = new String[count];
            Arrays.setAll(inputs, i -> Body.input("x" + i, "UINT8", bytes, bytes));
            Body body = Body.of(bytes * count, inputs);
            byte[] sent = body.bytes();
            // Its id is the number of outputs.
            sent[7] = '1';
            http1.post("/v2/models/" + model + "/infer", sent, "Inference-Header-Content-Length: " + body.jsonLength());
            Http1Client.Response response = http1.response();
            if (count == 3) {
                assertThat(response.status()).as(response.text()).isEqualTo(200);
            } else {
                expectRefused(response, "inputs");
            }
        }
    }

    /** Tensors of forwarded messages are not counted. */
    @ParameterizedTest
    @CsvSource({"grpc", "rest"})
    void response_ofMore_isTheServersFault(String model) throws Exception {
        String json = "{\"id\":\"4\",\"inputs\":[" + jsonTensors("x", 1) + "]}";
        if (model.equals("grpc")) {
            Http1Client.Response response =
                    http1.post("/v2/models/grpc/infer", json).response();
            assertThat(response.status()).isEqualTo(502);
            assertThat(response.text()).contains("outputs: at most 3 are accepted");
        } else {
            Status status = grpc(raw("rest", 1, 0, 1).toBuilder().setId("4").build());
            assertThat(status.getCode()).isEqualTo(Status.Code.INTERNAL);
            assertThat(status.getDescription()).contains("outputs: at most 3 are accepted");
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Raw binary requests: the body is the data of the model's single input. */
class RawBinaryTest {
    private static final String RAW = "Inference-Header-Content-Length: 0";

    /** A model's name encodes datatype and shape of each input, as in {@code FP32:-1,4;INT8:2}. */
    private static void serve(ServerCall<byte[], byte[]> call, byte[] message) {
        if (call.getMethodDescriptor().getFullMethodName().endsWith("/ModelMetadata")) {
            call.sendMessage(metadata(message));
        } else {
            call.sendMessage(
                    Infer.responseTo(Infer.request(message), Infer.number(9)).toByteArray());
        }
    }

    private static byte[] metadata(byte[] message) {
        String name;
        try {
            name = ModelMetadataRequest.parseFrom(message).getName();
        } catch (com.google.protobuf.InvalidProtocolBufferException e) {
            throw new IllegalStateException(e);
        }
        ModelMetadataResponse.Builder metadata =
                ModelMetadataResponse.newBuilder().setName(name);
        for (String input : name.split(";", -1)) {
            var tensor = ModelMetadataResponse.TensorMetadata.newBuilder()
                    .setName("x")
                    .setDatatype(input.substring(0, input.indexOf(':')));
            Arrays.stream(input.substring(input.indexOf(':') + 1).split(",", -1))
                    .forEach(extent -> tensor.addShape(Long.parseLong(extent)));
            metadata.addInputs(tensor);
        }
        return metadata.build().toByteArray();
    }

    private FakeGrpcServer server;
    private Stage stage;
    private Http1Client client;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer(RawBinaryTest::serve);
        stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON));
        client = stage.http1();
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        stage.close();
        server.close();
    }

    private static String path(String model) {
        return "/v2/models/" + model + "/infer";
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            FP32:2,3       | 24 | 2,3
            FP32:-1        | 20 | 5
            FP32:-1,4      | 32 | 2,4
            FP32:4,-1      | 32 | 4,2
            FP32:2,-1,2    | 48 | 2,3,2
            INT8:-1,-1     | 1  | 1,1
            FP64:-1,-1,2   | 16 | 1,1,2
            INT8:-1,-1     | 7  | 1,7
            FP64:-1,-1,2   | 48 | 1,3,2
            FP32:-1,-1     | 0  | 1,0
            FP32:-1        | 0  | 0
            INT64:-1,3     | 0  | 0,3
            INT8:1         | 1  | 1
            """)
    void shape_isTheModelsWithTheSizeOfTheBody(String model, int size, String shape) throws Exception {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 7);
        Http1Client.Response response = client.post(path(model), body, RAW).response();
        assertThat(response.status()).as(response.text()).isEqualTo(200);
        FakeGrpcServer.next(server.messages);
        ModelInferRequest request = Infer.request(FakeGrpcServer.next(server.messages));
        assertThat(request.getModelName()).isEqualTo(model);
        assertThat(request.getInputs(0).getName()).isEqualTo("x");
        assertThat(request.getInputs(0).getDatatype()).isEqualTo(model.substring(0, model.indexOf(':')));
        assertThat(request.getInputs(0).getShapeList().toString().replaceAll("[\\[\\] ]", ""))
                .isEqualTo(shape);
        assertThat(request.getRawInputContents(0)).isEqualTo(ByteString.copyFrom(body));
    }

    @Test
    void response_isBinary() throws Exception {
        Http1Client.Response response =
                client.post(path("FP32:-1"), new byte[4], RAW).response();
        int length = Integer.parseInt(response.header("inference-header-content-length"));
        assertThat(response.header("content-type")).isEqualTo("application/octet-stream");
        assertThat(response.latin().substring(length)).isEqualTo("\u0009\0\0\0");
        assertThat(response.latin().substring(0, length)).contains("\"binary_data_size\":4");
    }

    @ParameterizedTest
    @CsvSource({"BYTES:1, 3", "BYTES:-1, 3", "'BYTES:-1,1', 0", "'BYTES:-1,-1', 300"})
    void bytes_isOneElement(String model, int size) throws Exception {
        assertThat(client.post(path(model), "x".repeat(size), RAW).response().status())
                .isEqualTo(200);
        FakeGrpcServer.next(server.messages);
        ModelInferRequest request = Infer.request(FakeGrpcServer.next(server.messages));
        assertThat(request.getInputs(0).getShapeList()).containsOnly(1L);
        assertThat(request.getRawInputContents(0))
                .isEqualTo(Infer.number(size).concat(ByteString.copyFromUtf8("x".repeat(size))));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            FP32:2,3           | 20 | needs
            FP32:2,3           | 28 | needs
            FP32:9223372036854775807,2 | 8 | more elements than can be counted
            FP32:-1,9223372036854775807,2 | 8 | more elements than can be counted
            FP32:-1            | 6  | has elements of 4 bytes, got 6 bytes
            FP32:-1,4          | 20 | needs
            FP32:3,-1,-1       | 24 | more than one variable extent
            FP32:-1,-1,-1      | 12 | more than one variable extent
            FP64:-1,-1,2       | 40 | needs
            BYTES:2            | 12 | needs
            FP32:-1;FP32:-1    | 4  | a model with one input is expected
            WHAT:-1            | 4  | WHAT
            """)
    void body_thatDoesNotFit_isRefused(String model, int size, String text) throws Exception {
        Http1Client.Response response =
                client.post(path(model), new byte[size], RAW).response();
        assertThat(response.status()).as(response.text()).isEqualTo(400);
        assertThat(response.text()).contains(text);
        assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        assertThat(server.messages).hasSize(1);
    }

    @Test
    void metadata_thatFail_areTheResponse() throws Exception {
        try (FakeGrpcServer failing = new FakeGrpcServer(
                        (call, message) -> call.close(Status.NOT_FOUND.withDescription("no such"), new Metadata()));
                Stage other = Stage.of(Stage.grpc(failing, ServerDialect.TRITON));
                Http1Client to = other.http1()) {
            Http1Client.Response response = to.post(path("m"), "x", RAW).response();
            assertThat(response.status()).isEqualTo(404);
            assertThat(response.text()).isEqualTo("{\"error\":\"no such\"}");
        }
    }

    @Test
    void client_goesWhileMetadataAreAwaited_callIsCancelled() throws Exception {
        try (FakeGrpcServer silent = new FakeGrpcServer(new FakeGrpcServer.Script() {
                    @Override
                    public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                        // Neither a response nor an end.
                    }

                    @Override
                    public void ended(ServerCall<byte[], byte[]> call) {
                        // Nor here.
                    }
                });
                Stage other = Stage.of(Stage.grpc(silent, ServerDialect.TRITON))) {
            try (Http1Client to = other.http1()) {
                to.post(path("m"), "x", RAW);
                FakeGrpcServer.next(silent.messages);
            }
            assertThat(FakeGrpcServer.next(silent.cancelled)).isEqualTo("ModelMetadata");
        }
    }

    @Test
    void restServer_getsItInItsOwnForm() throws Exception {
        try (FakeRestServer rest = FakeRestServer.that((request, out) -> {
                    String metadata = "{\"name\":\"m\",\"platform\":\"\",\"inputs\":[{\"name\":\"x\",\"datatype\":"
                            + "\"UINT8\",\"shape\":[-1]}],\"outputs\":[]}";
                    boolean infer = request.head().startsWith("POST");
                    FakeRestServer.write(out, FakeRestServer.ok(infer ? Infer.responseJson("m", "", 5) : metadata));
                    return true;
                });
                Stage other = Stage.of(Stage.upstream(
                        UpstreamProtocol.REST, rest.endpoint(), ServerDialect.GENERIC, BinaryTensorData.FALSE, false));
                Http1Client to = other.http1()) {
            Http1Client.Response response = to.post(path("m"), "\1\2\3", RAW).response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            assertThat(response.latin()).endsWith("\5\0\0\0");
            assertThat(Stage.posted(rest).body()).contains("\"shape\":[3]", "[1,2,3]");
        }
    }

    @Test
    void events_areJson_andHaveNotFiniteNumbersAsTheClientWants() throws Exception {
        String metadata = "{\"name\":\"m\",\"platform\":\"\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"UINT8\","
                + "\"shape\":[-1]}],\"outputs\":[]}";
        String response = "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1],"
                + "\"data\":[NaN]}]}";
        try (FakeRestServer rest = FakeRestServer.that((request, out) -> {
                    FakeRestServer.write(
                            out, FakeRestServer.ok(request.head().startsWith("POST") ? response : metadata));
                    return true;
                });
                Stage other = Stage.of(Stage.rest(rest, ServerDialect.GENERIC));
                Http1Client to = other.http1()) {
            String accept = "Accept: application/json;nonfinite=null";
            assertThat(to.post("/v2/models/m/infer_stream", "\1", RAW, accept)
                            .head()
                            .status())
                    .isEqualTo(200);
            assertThat(to.chunks()).isEqualTo("data: " + response.replace("NaN", "null") + "\n\n");
        }
    }

    @Test
    void localModel_takesIt() throws Exception {
        try (Stage local = Stage.local();
                Http1Client to = local.http1()) {
            Http1Client.Response digits =
                    to.post(path("digits"), new byte[64 * 4], RAW).response();
            assertThat(digits.status()).as(digits.text()).isEqualTo(200);
            assertThat(digits.header("inference-header-content-length")).isNotEmpty();
            assertThat(to.post(path("simple"), new byte[64], RAW).response().status())
                    .isEqualTo(400);
        }
    }
}

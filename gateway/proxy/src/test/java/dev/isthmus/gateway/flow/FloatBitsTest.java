package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Floats whose value does not show their bits: quiet and signalling NaN with payloads, minus zero and subnormal
 * numbers. Binary data preserves every bit in both directions, JSON all but the payload and sign of a NaN.
 */
class FloatBitsTest {
    /** An input of each datatype, and its bits. */
    @SuppressWarnings("ImmutableEnumChecker") // nobody writes to it
    private enum Bits {
        FP16(2, 0x7e01, 0x7d01, 0xfe55, 0x8000, 0x0001, 0x83ff, 0x7c00),
        BF16(2, 0x7fc1, 0x7f81, 0xffd5, 0x8000, 0x0001, 0x807f, 0xff80),
        FP32(4, 0x7fc00001, 0x7f800001, 0xffc12345, 0x80000000, 1, 0x807fffff, 0x7f800000),
        FP64(
                8,
                0x7ff8000000000001L,
                0x7ff0000000000001L,
                0xfff8123456789abcL,
                0x8000000000000000L,
                1,
                0x800fffffffffffffL,
                0xfff0000000000000L);

        private final byte[] raw;

        Bits(int size, long... values) {
            ByteBuffer bytes = ByteBuffer.allocate(size * values.length).order(ByteOrder.LITTLE_ENDIAN);
            for (long value : values) {
                switch (size) {
                    case 2 -> bytes.putShort((short) value);
                    case 4 -> bytes.putInt((int) value);
                    default -> bytes.putLong(value);
                }
            }
            raw = bytes.array();
        }

        int count() {
            return FP16.raw.length / 2;
        }
    }

    private static final byte[] ALL = all();
    private static final String BINARY_INPUTS =
            "{\"inputs\":[" + tensors() + "],\"parameters\":{\"binary_data_output\":true}}";

    private FakeGrpcServer grpc;
    private FakeRestServer binary;
    private FakeRestServer json;
    private Stage stage;
    private Http1Client http1;

    private static byte[] all() {
        ByteBuffer all = ByteBuffer.allocate(1024);
        Arrays.stream(Bits.values()).forEach(bits -> all.put(bits.raw));
        return Arrays.copyOf(all.array(), all.position());
    }

    private static String tensors() {
        return Arrays.stream(Bits.values())
                .map(bits -> BinaryRequest.Body.input(bits.name(), bits.name(), bits.count(), bits.raw.length))
                .collect(Collectors.joining(","));
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    private static boolean binary(FakeRestServer.RestRequest seen, OutputStream out) throws IOException {
        String head = "{\"model_name\":\"\",\"outputs\":[" + tensors() + "]}";
        FakeRestServer.write(
                out,
                "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: "
                        + head.length() + "\r\nContent-Length: " + (head.length() + ALL.length) + "\r\n\r\n" + head
                        + latin(ALL));
        return true;
    }

    private static byte[] response(byte[] message) {
        ModelInferRequest request = Infer.request(message);
        ModelInferResponse.Builder response =
                ModelInferResponse.newBuilder().addAllRawOutputContents(request.getRawInputContentsList());
        request.getInputsList()
                .forEach(input -> response.addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName(input.getName())
                        .setDatatype(input.getDatatype())
                        .addAllShape(input.getShapeList())));
        return response.build().toByteArray();
    }

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer((call, message) -> call.sendMessage(response(message)));
        binary = FakeRestServer.that(FloatBitsTest::binary);
        json = FakeRestServer.sending(FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[{\"name\":\"y\","
                + "\"datatype\":\"FP32\",\"shape\":[3],\"data\":[null,-0.0,1e-45]}]}"));
        stage = new Stage(
                Map.of(
                        "grpc",
                        Stage.grpc(grpc, ServerDialect.GENERIC),
                        "binary",
                        Stage.upstream(
                                UpstreamProtocol.REST,
                                binary.endpoint(),
                                ServerDialect.GENERIC,
                                BinaryTensorData.TRUE,
                                false),
                        "json",
                        Stage.rest(json, ServerDialect.MLSERVER)),
                Map.of("grpc", "grpc", "binary", "binary", "json", "json"),
                null);
        http1 = stage.http1();
    }

    @AfterEach
    void stop() throws Exception {
        http1.close();
        stage.close();
        grpc.close();
        binary.close();
        json.close();
    }

    private static ModelInferRequest request(String model) {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName(model);
        for (Bits bits : Bits.values()) {
            request.addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                            .setName(bits.name())
                            .setDatatype(bits.name())
                            .addShape(bits.count()))
                    .addRawInputContents(ByteString.copyFrom(bits.raw));
        }
        return request.build();
    }

    /** Asserts that the server of this name received every bit. */
    private void expectArrived(String model) throws Exception {
        if (model.equals("grpc")) {
            ByteString arrived = ByteString.copyFrom(
                    Infer.request(FakeGrpcServer.next(grpc.messages)).getRawInputContentsList());
            assertThat(arrived).isEqualTo(ByteString.copyFrom(ALL));
        } else {
            assertThat(behindJson(Stage.posted(binary))).isEqualTo(latin(ALL));
        }
    }

    private static String behindJson(FakeRestServer.RestRequest seen) {
        String length = seen.head()
                .toLowerCase(Locale.ROOT)
                .replaceAll("(?s).*inference-header-content-length: *([0-9]+)\r\n.*", "$1");
        return seen.body().substring(Integer.parseInt(length));
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "binary"})
    void ofAGrpcClient_areKept(String model) throws Exception {
        GrpcClient call = GrpcClient.ask(
                stage.channel(), "ModelInfer", new Metadata(), request(model).toByteArray());
        assertThat(call.status().getCode()).isEqualTo(Status.Code.OK);
        expectArrived(model);
        assertThat(ByteString.copyFrom(Infer.response(call.response()).getRawOutputContentsList()))
                .isEqualTo(ByteString.copyFrom(ALL));
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "binary"})
    void ofARestClientWithBinaryData_areKept(String model) throws Exception {
        byte[] json = BINARY_INPUTS.getBytes(StandardCharsets.US_ASCII);
        byte[] body = Arrays.copyOf(json, json.length + ALL.length);
        System.arraycopy(ALL, 0, body, json.length, ALL.length);
        Http1Client.Response response = http1.post(
                        "/v2/models/" + model + "/infer", body, "Inference-Header-Content-Length: " + json.length)
                .response();
        assertThat(response.status()).as(response.text()).isEqualTo(200);
        expectArrived(model);
        int length = Integer.parseInt(response.header("inference-header-content-length"));
        assertThat(response.latin().substring(length)).isEqualTo(latin(ALL));
    }

    /** If one side uses JSON, a NaN loses payload and sign; everything else is preserved. */
    @Test
    void towardsAServerOfJson_nanIsOne() throws Exception {
        ModelInferRequest request = request("json").toBuilder()
                .clearInputs()
                .clearRawInputContents()
                .addInputs(request("json").getInputs(List.of(Bits.values()).indexOf(Bits.FP32)))
                .addRawInputContents(ByteString.copyFrom(Bits.FP32.raw, 0, 24))
                .build();
        request = request.toBuilder()
                .setInputs(0, request.getInputs(0).toBuilder().setShape(0, 6))
                .build();
        GrpcClient call = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
        assertThat(call.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(Stage.posted(json).body()).contains("\"data\":[null,null,null,-0.0,1.0E-45,-1.1754942E-38]");
        ByteBuffer response = Infer.response(call.response())
                .getRawOutputContents(0)
                .asReadOnlyByteBuffer()
                .order(ByteOrder.LITTLE_ENDIAN);
        assertThat(new int[] {response.getInt(), response.getInt(), response.getInt()})
                .containsExactly(0x7fc00000, 0x80000000, 1);
    }

    @Test
    void forAClientOfJson_nanIsOne() throws Exception {
        Http1Client.Response response = http1.post(
                        "/v2/models/grpc/infer",
                        "{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP64\",\"data\":[NaN,-0.0,4.9e-324]}]}")
                .response();
        assertThat(response.text()).contains("[NaN,-0.0,5.0E-324]");
        ByteBuffer arrived = Infer.request(FakeGrpcServer.next(grpc.messages))
                .getRawInputContents(0)
                .asReadOnlyByteBuffer()
                .order(ByteOrder.LITTLE_ENDIAN);
        assertThat(arrived.getLong()).isEqualTo(0x7ff8000000000000L);
        assertThat(arrived.getLong()).isEqualTo(Long.MIN_VALUE);
        assertThat(arrived.getLong()).isEqualTo(1);
    }
}

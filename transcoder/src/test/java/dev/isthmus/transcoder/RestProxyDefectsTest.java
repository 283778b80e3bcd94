package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.testing.Samples;
import dev.isthmus.transcoder.Wires.Encoded;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Defects of KServe's REST proxy, an earlier bridge from REST to gRPC, that concern the codecs. Each test is named
 * after the defect.
 */
class RestProxyDefectsTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    static final List<Samples> SAMPLES = Samples.ALL;

    private final Wires wires = new Wires(true);

    @AfterEach
    void nothingIsHeld() {
        assertThat(wires.held()).isZero();
    }

    private Message read(String json) {
        return wires.readRest(true, MODEL, new Encoded(json.getBytes(UTF_8), Wires.ALL_JSON));
    }

    private Message read(DataType type, String shape, String data) {
        return read("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + type + "\",\"shape\":" + shape + ",\"data\":"
                + data + "}]}");
    }

    /** A REST request as received by a gRPC server. */
    private ModelInferRequest bridged(Message request) throws InvalidProtocolBufferException {
        return ModelInferRequest.parseFrom(wires.protobuf(request).bytes());
    }

    /** A gRPC server's response as received by a REST client. */
    private String bridged(DataType type, ByteString raw, long... shape) {
        Message answer = wires.readProtobuf(false, answer(type, raw, shape));
        return new String(wires.restResponse(answer, Set.of()).bytes(), UTF_8);
    }

    private static Encoded answer(DataType type, ByteString raw, long... shape) {
        ModelInferResponse.InferOutputTensor.Builder output =
                ModelInferResponse.InferOutputTensor.newBuilder().setName("y").setDatatype(type.name());
        for (long extent : shape) {
            output.addShape(extent);
        }
        ModelInferResponse answer = ModelInferResponse.newBuilder()
                .setModelName("m")
                .addOutputs(output)
                .addRawOutputContents(raw)
                .build();
        return new Encoded(answer.toByteArray(), Wires.ALL_JSON);
    }

    private static void assertRefused(ErrorCode code, String message, ThrowingCallable reading) {
        assertThatThrownBy(reading).isInstanceOfSatisfying(OipException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.message()).contains(message);
        });
    }

    private void assertRefused(String message, DataType type, String shape, String data) {
        assertRefused(ErrorCode.INVALID_ARGUMENT, "input 'x': " + message, () -> read(type, shape, data));
    }

    @Test
    void uint8Output_asBase64String_isAnArrayOfNumbers() {
        assertThat(bridged(DataType.UINT8, ByteString.copyFrom(new byte[] {0, 'A', 127, -128, -1}), 5))
                .contains("\"data\":[0,65,127,128,255]");
    }

    @ParameterizedTest
    @CsvSource({
        "FP16, 007e 007c 00fc",
        "BF16, c07f 807f 80ff",
        "FP32, 0000c07f 0000807f 000080ff",
        "FP64, 000000000000f87f 000000000000f07f 000000000000f0ff"
    })
    void nanAndInfinityOutput_asStatus500_areWritten(DataType type, String raw) {
        assertThat(bridged(type, ByteString.fromHex(raw.replace(" ", "")), 3))
                .contains("\"data\":[NaN,Infinity,-Infinity]");
    }

    @ParameterizedTest
    @CsvSource({"FP16, 003e00c1", "BF16, c03f20c0"})
    void fp16AndBf16_refused_areRawContents(DataType type, String raw) throws InvalidProtocolBufferException {
        ModelInferRequest request = bridged(read(type, "[2]", "[1.5,-2.5]"));
        assertThat(request.getInputs(0).getDatatype()).isEqualTo(type.name());
        assertThat(request.getRawInputContents(0)).isEqualTo(ByteString.fromHex(raw));
        assertThat(bridged(type, ByteString.fromHex(raw), 2)).contains("\"data\":[1.5,-2.5]");
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void shortRawBuffer_panics_isRefused(Samples sample) {
        for (int length = 0; length < sample.raw().length; length++) {
            ByteString raw = ByteString.copyFrom(sample.raw(), 0, length);
            assertRefused(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "output 'y': ",
                    () -> wires.readProtobuf(false, answer(sample.type(), raw, 6)));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"\\u0041|A", "caf\\u00e9|caf\u00e9", "\\u3030|\u3030", "\\ud83d\\ude00|\ud83d\ude00"})
    void unicodeEscape_asItsHexDigits_isItsCharacter(String escaped, String text)
            throws InvalidProtocolBufferException {
        ByteString utf8 = ByteString.copyFromUtf8(text);
        ByteString length = ByteString.copyFrom(new byte[] {(byte) utf8.size(), 0, 0, 0});
        ModelInferRequest request = bridged(read(DataType.BYTES, "[1]", "[\"" + escaped + "\"]"));
        assertThat(request.getRawInputContents(0)).isEqualTo(length.concat(utf8));
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"BOOL", "BYTES"},
            mode = EnumSource.Mode.EXCLUDE)
    void tooFewElements_forwarded_areRefused(DataType type) {
        assertRefused("shape [4] needs 4 elements, got 2 in data", type, "[4]", "[1,2]");
    }

    @Test
    void raggedNesting_accepted_isRefused() {
        assertRefused("data: nested arrays of different sizes", DataType.FP32, "[2,2]", "[[1,2,3],[4]]");
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void nullElement_asZero_isNanOrRefused(DataType type) {
        switch (type) {
            case FP16, BF16, FP32, FP64 -> {
                Message.Value nan = read(type, "[1]", "[NaN]").tensors().get(0);
                assertThat(read(type, "[1]", "[null]").tensors()).containsExactly(nan);
            }
            default -> assertRefused("a value of " + type + " is expected, got null", type, "[1]", "[null]");
        }
    }

    @ParameterizedTest
    @CsvSource({"INT8, 300", "UINT8, -1", "INT16, 32768", "UINT16, 65536", "INT32, 2147483648", "UINT32, 4294967296"})
    void integerOutOfRange_forwarded_isRefused(DataType type, String value) {
        assertRefused("a value of " + type + " is expected, got " + value, type, "[1]", "[" + value + "]");
    }

    private InferParameter bridgedParameter(String json) throws InvalidProtocolBufferException {
        return bridged(read("{\"parameters\":{\"p\":" + json + "},\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\","
                        + "\"shape\":[0],\"data\":[]}]}"))
                .getParametersOrThrow("p");
    }

    @Test
    void fractionalParameter_asZero_isKept() throws InvalidProtocolBufferException {
        assertThat(bridgedParameter("0.5"))
                .isEqualTo(InferParameter.newBuilder().setDoubleParam(0.5).build());
    }

    @ParameterizedTest
    @ValueSource(longs = {9007199254740993L, -9007199254740993L, Long.MAX_VALUE, Long.MIN_VALUE})
    void largeIntegerParameter_rounded_isKept(long value) throws InvalidProtocolBufferException {
        assertThat(bridgedParameter(Long.toString(value)))
                .isEqualTo(InferParameter.newBuilder().setInt64Param(value).build());
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{\"a\":1}", "[1]", "null"})
    void objectParameter_dropped_isRefused(String value) {
        assertRefused(
                ErrorCode.INVALID_ARGUMENT,
                "parameter 'p': a string, a number or a boolean is expected",
                () -> bridgedParameter(value));
    }

    @Test
    void binaryDataOfOutput_refused_isTheFormOfTheAnswer() throws InvalidProtocolBufferException {
        Encoded body = new Encoded(
                ("{\"id\":\"\",\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[7]}],"
                                + "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":true}},"
                                + "{\"name\":\"z\",\"parameters\":{\"binary_data\":false}}]}")
                        .getBytes(UTF_8),
                Wires.ALL_JSON);
        Wires.ReadRequest read = wires.readRestRequest(MODEL, body, () -> 7);
        assertThat(read.binary()).containsOnly(Map.entry("y", true), Map.entry("z", false), Map.entry("", false));
        ModelInferRequest request = bridged(read.message());
        assertThat(request.getOutputsList())
                .extracting(ModelInferRequest.InferRequestedOutputTensor::getName)
                .containsExactly("y", "z");
        assertThat(request.getOutputs(0).getParametersMap()).isEmpty();
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void binaryTail_ignored_isTheTensor(Samples sample) throws InvalidProtocolBufferException {
        byte[] json = ("{\"inputs\":[{\"name\":\"x\",\"shape\":[2,3],\"datatype\":\"" + sample.type()
                        + "\",\"parameters\":{\"binary_data_size\":" + sample.raw().length + "}}]}")
                .getBytes(UTF_8);
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.writeBytes(json);
        body.writeBytes(sample.raw());
        Message read = wires.readRest(true, MODEL, new Encoded(body.toByteArray(), json.length));
        ModelInferRequest request = bridged(read);
        assertThat(request.getRawInputContents(0)).isEqualTo(ByteString.copyFrom(sample.raw()));
        assertThat(request.getInputs(0).getParametersMap()).isEmpty();
    }

    @Test
    void scalarOutput_losesItsShape_keepsIt() {
        assertThat(bridged(DataType.INT64, ByteString.copyFrom(new byte[] {5, 0, 0, 0, 0, 0, 0, 0})))
                .contains("\"shape\":[],\"data\":[5]");
    }
}

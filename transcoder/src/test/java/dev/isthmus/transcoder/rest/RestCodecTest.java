package dev.isthmus.transcoder.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.testing.Samples;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class RestCodecTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final ModelRef MODEL = new ModelRef("m", "3");
    static final List<Samples> SAMPLES = Samples.ALL;

    /** Reads a request in parts, split at these indices. */
    private static RestRequest read(byte[] body, long jsonLength, int... cuts) {
        RestRequestReader reader = new RestRequestReader(ALLOCATOR, MODEL, jsonLength, false, WireLimits.DEFAULT);
        try {
            int from = 0;
            for (int i = 0; i <= cuts.length; i++) {
                int to = i < cuts.length ? cuts[i] : body.length;
                ByteBuf chunk = ALLOCATOR.directBuffer(to - from + 3).writeZero(3);
                chunk.writeBytes(body, from, to - from).skipBytes(3);
                try {
                    reader.feed(chunk);
                } finally {
                    chunk.release();
                }
                from = to;
            }
            return reader.finish();
        } finally {
            reader.release();
        }
    }

    private static RestRequest read(String json) {
        return read(json.getBytes(UTF_8), RestBody.ALL_JSON);
    }

    private static String input(String members) {
        return "{\"inputs\":[{" + members + "}]}";
    }

    private static void assertOnly(RestRequest read, Samples sample, Shape shape) {
        try {
            assertThat(read.request().inputs()).hasSize(1);
            Tensor tensor = read.request().inputs().get(0);
            assertThat(tensor.name()).isEqualTo("x");
            assertThat(tensor.dataType()).isEqualTo(sample.type());
            assertThat(tensor.shape()).isEqualTo(shape);
            assertThat(ByteBufUtil.getBytes(tensor.data())).isEqualTo(sample.raw());
        } finally {
            read.request().release();
        }
    }

    private static String failure(byte[] body, long jsonLength) {
        OipException[] caught = new OipException[1];
        assertThatThrownBy(() -> read(body, jsonLength).request().release())
                .isInstanceOfSatisfying(OipException.class, e -> caught[0] = e);
        assertThat(caught[0].code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        return caught[0].message();
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void json_cutAnywhere_isRead(Samples sample) {
        String members = "\"name\":\"x\",\"shape\":[2,3],\"datatype\":\"" + sample.type() + "\",\"data\":";
        for (String data : List.of("[" + sample.json() + "]", sample.nested())) {
            byte[] body = (" " + input(members + data) + "\n").getBytes(UTF_8);
            for (int cut = 0; cut <= body.length; cut++) {
                assertOnly(read(body, RestBody.ALL_JSON, cut), sample, Shape.of(2, 3));
            }
            int[] everywhere = new int[body.length];
            java.util.Arrays.setAll(everywhere, i -> i);
            assertOnly(read(body, RestBody.ALL_JSON, everywhere), sample, Shape.of(2, 3));
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void json_dataBeforeDatatype_cutAnywhere_isRead(Samples sample) {
        String members = "\"data\" : [" + sample.json() + "] ,\"datatype\":\"" + sample.type()
                + "\",\"shape\":[6],\"name\":\"x\",\"unknown\":{\"a\":[1,{}]}";
        byte[] body = input(members).getBytes(UTF_8);
        for (int cut = 0; cut <= body.length; cut++) {
            assertOnly(read(body, RestBody.ALL_JSON, cut), sample, Shape.of(6));
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void scalarWithoutAnArray_cutAnywhere_isReadAsInOne(Samples sample) {
        for (String element : sample.json().split(",", -1)) {
            String type = "\"datatype\":\"" + sample.type() + "\"";
            RestRequest inArray = read(input("\"name\":\"x\",\"shape\":[]," + type + ",\"data\":[" + element + "]"));
            byte[] raw = ByteBufUtil.getBytes(inArray.request().inputs().get(0).data());
            inArray.request().release();
            Samples expected = new Samples(sample.type(), element, raw);
            for (String members : List.of(
                    "\"name\":\"x\",\"shape\":[]," + type + ",\"data\":" + element,
                    "\"data\" : " + element + " ," + type + ",\"shape\":[],\"name\":\"x\"")) {
                byte[] body = input(members).getBytes(UTF_8);
                for (int cut = 0; cut <= body.length; cut++) {
                    RestRequest read = read(body, RestBody.ALL_JSON, cut);
                    assertThat(read.contestedInputs()).isTrue();
                    assertOnly(read, expected, Shape.of());
                    assertThat(response(members, cut, false)).isEqualTo(raw);
                    assertThat(response(members, cut, true)).isEmpty();
                }
            }
        }
    }

    /** The data of a response's only output. */
    private static byte[] response(String members, int cut, boolean passing) {
        byte[] body = ("{\"outputs\":[{" + members + "}]}").getBytes(UTF_8);
        RestResponseReader reader = passing
                ? RestResponseReader.passing(ALLOCATOR, RestBody.ALL_JSON, WireLimits.DEFAULT, Map.of())
                : new RestResponseReader(ALLOCATOR, RestBody.ALL_JSON, WireLimits.DEFAULT);
        reader.feed(Unpooled.wrappedBuffer(body, 0, cut));
        reader.feed(Unpooled.wrappedBuffer(body, cut, body.length - cut));
        if (passing) {
            reader.end();
            return new byte[0];
        }
        InferResponse read = reader.finish();
        byte[] data = ByteBufUtil.getBytes(read.outputs().get(0).data());
        read.release();
        return data;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"shape\":[1],\"datatype\":\"INT64\",\"data\":7",
                "\"data\":7,\"shape\":[1],\"datatype\":\"INT64\"",
                "\"shape\":[],\"datatype\":\"INT64\",\"data\":null",
                "\"data\":null,\"shape\":[],\"datatype\":\"INT64\"",
                "\"shape\":null,\"datatype\":\"INT64\",\"data\":[7]",
                "\"shape\":[1],\"datatype\":null,\"data\":[7]",
            })
    void answer_withoutWhatItNeeds_isRefused(String members) {
        for (boolean passing : new boolean[] {false, true}) {
            assertThatThrownBy(() -> response("\"name\":\"x\"," + members, 0, passing))
                    .isInstanceOfSatisfying(
                            OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"id\":null,\"inputs\":[{%s}]",
                "\"parameters\":null,\"inputs\":[{%s}]",
                "\"outputs\":null,\"inputs\":[{%s}]",
                "\"inputs\":[{\"parameters\":null,%s}]",
                "\"id\":null,\"parameters\":null,\"outputs\":null,\"inputs\":[{%s,\"parameters\":null}]",
            })
    void nullForAnOptionalMember_cutAnywhere_isAsGoodAsAbsent(String pattern) {
        String tensor = "\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1,2.5]";
        byte[] body = ("{" + pattern.formatted(tensor) + "}").getBytes(UTF_8);
        for (int cut = 0; cut <= body.length; cut++) {
            for (boolean any : new boolean[] {false, true}) {
                assertAbsent(
                        new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, any, WireLimits.DEFAULT), body, cut);
                assertAbsent(RestRequestReader.skimming(ALLOCATOR, MODEL, any, WireLimits.DEFAULT), body, cut);
            }
        }
    }

    private static void assertAbsent(RestRequestReader reader, byte[] body, int cut) {
        reader.feed(Unpooled.wrappedBuffer(body, 0, cut));
        reader.feed(Unpooled.wrappedBuffer(body, cut, body.length - cut));
        RestRequest read = reader.finish();
        assertThat(read.hasNull()).isTrue();
        assertThat(read.foreignParameter()).isNull();
        InferRequest request = read.request();
        assertThat(request.id()).isEmpty();
        assertThat(request.parameters()).isEmpty();
        assertThat(request.outputs()).isEmpty();
        assertThat(request.inputs().get(0).parameters()).isEmpty();
        request.release();
    }

    @Test
    void nullForData_besideBinaryData_isAsGoodAsAbsent() {
        for (String order : List.of("%1$s,%2$s", "%2$s,%1$s")) {
            String json = input(order.formatted(
                    "\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT8\"",
                    "\"data\":null,\"parameters\":{\"binary_data_size\":1}"));
            RestRequest read = read(concat(json.getBytes(UTF_8), new byte[] {7}), json.length());
            assertThat(read.hasNull()).isTrue();
            assertThat(read.contestedInputs()).isFalse();
            assertOnly(read, new Samples(DataType.INT8, "7", new byte[] {7}), Shape.of(1));
        }
    }

    @Test
    void nullInAnAnswer_isAsGoodAsAbsent() {
        String body = "{\"id\":null,\"model_name\":\"m\",\"model_version\":null,\"parameters\":null,\"outputs\":["
                + "{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT64\",\"parameters\":null,\"data\":[7]}]}";
        RestResponseReader reader = new RestResponseReader(ALLOCATOR, RestBody.ALL_JSON, WireLimits.DEFAULT);
        reader.feed(Unpooled.copiedBuffer(body, UTF_8));
        InferResponse read = reader.finish();
        assertThat(read.id()).isEmpty();
        assertThat(read.model()).isEqualTo(ModelRef.of("m"));
        assertThat(read.parameters()).isEmpty();
        assertThat(read.outputs().get(0).parameters()).isEmpty();
        read.release();
    }

    /** A server that decodes base64 itself gets the text again; all others get bytes. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"inputs\":[{%s,\"parameters\":{\"content_type\":\"base64\"}}]}",
                "{\"parameters\":{\"content_type\":\"b64\"},\"inputs\":[{%s}]}"
            })
    void base64_isDecodedOnce(String pattern) {
        String members = "\"name\":\"x\",\"shape\":[2],\"datatype\":\"BYTES\",\"data\":[\"YWJjZA==\",\"//4=\"]";
        RestRequest read = read(pattern.formatted(members));
        for (Dialect dialect : Dialect.values()) {
            InferRequest sent = read.retained(ALLOCATOR, dialect);
            Tensor tensor = sent.inputs().get(0);
            Samples text =
                    new Samples(DataType.BYTES, "", elements("YWJjZA==".getBytes(UTF_8), "//4=".getBytes(UTF_8)));
            Samples bytes = new Samples(DataType.BYTES, "", elements("abcd".getBytes(UTF_8), new byte[] {-1, -2}));
            boolean encoded = dialect == Dialect.MLSERVER;
            assertThat(ByteBufUtil.getBytes(tensor.data())).isEqualTo((encoded ? text : bytes).raw());
            assertThat(tensor.parameters())
                    .isEqualTo(encoded ? Map.of("content_type", new Parameter.Text("base64")) : Map.of());
            InferRequest decoded = Base64Inputs.decoded(ALLOCATOR, sent, encoded ? read.base64Inputs() : Set.of());
            assertThat(ByteBufUtil.getBytes(decoded.inputs().get(0).data())).isEqualTo(bytes.raw());
            assertThat(decoded.inputs().get(0).parameters()).isEmpty();
            decoded.release();
        }
        read.request().release();
    }

    private static byte[] elements(byte[]... elements) {
        ByteBuf raw = Unpooled.buffer();
        for (byte[] element : elements) {
            raw.writeIntLE(element.length).writeBytes(element);
        }
        return ByteBufUtil.getBytes(raw);
    }

    /** Strings as large as the body may be, also in parameters; they grow the window in few steps. */
    @Test
    void stringOfAnyLength_isRead() {
        String large = "x".repeat((16 << 20) + 1);
        String members = "\"name\":\"x\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"" + large + "\"]";
        RestRequest read = read(input(members));
        assertThat(read.request().inputs().get(0).data().readableBytes()).isEqualTo(large.length() + 4);
        read.request().release();
        assertThat(response(members, 1 << 20, false)).hasSize(large.length() + 4);
        assertThat(response(members, 1 << 20, true)).isEmpty();
    }

    @Test
    void rawFormLargerThanABody_isTooLarge() {
        WireLimits limits = WireLimits.DEFAULT.withBodyBytes(100);
        String type = "\"datatype\":\"FP64\"";
        String data = "\"data\":[" + "1,".repeat(12) + "1]";
        for (String members : List.of(
                "\"name\":\"x\",\"shape\":[13]," + type + "," + data,
                "\"name\":\"x\",\"shape\":[13]," + data + "," + type)) {
            RestRequestReader reader = new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, false, limits);
            assertThatThrownBy(() -> reader.feed(Unpooled.copiedBuffer(input(members), UTF_8)))
                    .isInstanceOfSatisfying(
                            OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE))
                    .hasMessage("input 'x': at most 100 bytes are accepted");
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void binary_cutAnywhere_isRead(Samples sample) {
        String json = input("\"name\":\"x\",\"shape\":[3,1,2],\"datatype\":\"" + sample.type()
                + "\",\"parameters\":{\"binary_data_size\":" + sample.raw().length + "}");
        byte[] body = concat(json.getBytes(UTF_8), sample.raw());
        for (int cut = 0; cut <= body.length; cut++) {
            assertOnly(read(body, json.length(), cut), sample, Shape.of(3, 1, 2));
        }
        for (int length = 0; length < body.length; length++) {
            failure(java.util.Arrays.copyOf(body, length), json.length());
        }
        assertThat(failure(java.util.Arrays.copyOf(body, body.length + 1), json.length()))
                .contains("beyond what binary_data_size announces");
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void json_truncatedAnywhere_isRefused(Samples sample) {
        byte[] body = input("\"name\":\"x\",\"shape\":[6],\"datatype\":\"" + sample.type() + "\",\"data\":["
                        + sample.json() + "]")
                .getBytes(UTF_8);
        for (int length = 0; length < body.length; length++) {
            failure(java.util.Arrays.copyOf(body, length), RestBody.ALL_JSON);
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void response_writtenAndReadBack_isTheSame(Samples sample) {
        for (boolean binary : new boolean[] {false, true}) {
            RestBody body =
                    RestWriter.response(ALLOCATOR, response(sample), binary ? OutputForms.BINARY : OutputForms.JSON);
            RestResponseReader reader = new RestResponseReader(ALLOCATOR, body.jsonLength(), WireLimits.DEFAULT);
            reader.feed(body.content());
            body.release();
            InferResponse read = reader.finish();
            assertThat(read.model()).isEqualTo(MODEL);
            assertThat(read.id()).isEqualTo("7");
            assertThat(ByteBufUtil.getBytes(read.outputs().get(0).data())).isEqualTo(sample.raw());
            read.release();
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void response_json_isAsExpected(Samples sample) {
        RestBody body = RestWriter.response(ALLOCATOR, response(sample), OutputForms.JSON);
        String text = body.content().toString(UTF_8);
        body.release();
        assertThat(text)
                .isEqualTo("{\"id\":\"7\",\"model_name\":\"m\",\"model_version\":\"3\",\"outputs\":[{\"name\":\"x\","
                        + "\"datatype\":\"" + sample.type() + "\",\"shape\":[6],\"data\":["
                        + sample.json() + "]}]}");
    }

    private static InferResponse response(Samples sample) {
        ByteBuf data = ALLOCATOR.buffer().writeBytes(sample.raw());
        return new InferResponse(
                MODEL, "7", Map.of(), List.of(new Tensor("x", sample.type(), Shape.of(6), Map.of(), data)));
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void upstreamRequest_writtenAndReadBack_isTheSame(Samples sample) {
        for (boolean binary : new boolean[] {false, true}) {
            ByteBuf data = ALLOCATOR.buffer().writeBytes(sample.raw());
            Tensor tensor = new Tensor("x", sample.type(), Shape.of(6), Map.of(), data);
            InferRequest request =
                    new InferRequest(MODEL, "", Map.of("p", new Parameter.Text("\"q\"")), List.of(tensor), List.of());
            RestBody body = RestWriter.request(
                    ALLOCATOR, request, new ServerFeatures(Wire.REST, Dialect.GENERIC, binary, false), Set.of());
            byte[] bytes = ByteBufUtil.getBytes(body.content());
            body.release();
            RestRequest read = read(bytes, body.jsonLength());
            assertThat(read.outputForms().binary("any")).isEqualTo(binary);
            assertThat(read.request().parameters()).containsExactly(Map.entry("p", new Parameter.Text("\"q\"")));
            assertOnly(read, sample, Shape.of(6));
        }
    }

    @Test
    void base64_askedOfNumbers_saysNothing() {
        ByteBuf data = ALLOCATOR.buffer().writeByte(7);
        Tensor tensor = new Tensor("x", DataType.INT8, Shape.of(1), Map.of(), data);
        RestBody body = RestWriter.response(
                ALLOCATOR,
                new InferResponse(MODEL, "", Map.of(), List.of(tensor)),
                new OutputForms(false, Map.of(), Set.of("x"), NonFinite.TOKEN));
        assertThat(body.content().toString(UTF_8))
                .isEqualTo("{\"model_name\":\"m\",\"model_version\":\"3\","
                        + "\"outputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[7]}]}");
        body.release();
    }

    /** MLServer, which is asked for it too, says over gRPC that it has done so. */
    @Test
    void base64_thatTheServerHasWritten_isNotEncodedAgain() {
        ByteBuf data = ALLOCATOR.buffer().writeBytes(elements("YWJjZA==".getBytes(UTF_8)));
        Map<String, Parameter> parameters = Map.of("content_type", new Parameter.Text("base64"));
        Tensor tensor = new Tensor("x", DataType.BYTES, Shape.of(1), parameters, data);
        RestBody body = RestWriter.response(
                ALLOCATOR,
                new InferResponse(MODEL, "", Map.of(), List.of(tensor)),
                new OutputForms(false, Map.of(), Set.of("x"), NonFinite.TOKEN));
        assertThat(body.content().toString(UTF_8))
                .contains("\"parameters\":{\"content_type\":\"base64\"},\"data\":[\"YWJjZA==\"]");
        body.release();
    }

    @Test
    void bytes_notText_isWrittenAsBase64AndReadBack() {
        ByteBuf data =
                ALLOCATOR.buffer().writeIntLE(2).writeBytes(new byte[] {-1, -2}).writeIntLE(1);
        data.writeByte('a');
        byte[] raw = ByteBufUtil.getBytes(data);
        Tensor tensor = new Tensor("x", DataType.BYTES, Shape.of(2), Map.of(), data);
        RestBody body = RestWriter.response(
                ALLOCATOR, new InferResponse(MODEL, "", Map.of(), List.of(tensor)), OutputForms.JSON);
        assertThat(body.content().toString(UTF_8))
                .contains("\"parameters\":{\"content_type\":\"base64\"},\"data\":[\"//4=\",\"YQ==\"]");
        RestResponseReader reader = new RestResponseReader(ALLOCATOR, body.jsonLength(), WireLimits.DEFAULT);
        reader.feed(body.content());
        body.release();
        InferResponse read = reader.finish();
        assertThat(ByteBufUtil.getBytes(read.outputs().get(0).data())).isEqualTo(raw);
        read.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"FP16", "BF16", "FP32", "FP64"})
    void specialValues_inEveryForm_areReadAndWrittenAsWords(String type) {
        String data = "NaN,\"NaN\",null,Infinity,\"Infinity\",-Infinity,\"-Infinity\"";
        RestRequest read =
                read(input("\"name\":\"x\",\"shape\":[7],\"datatype\":\"" + type + "\",\"data\":[" + data + "]"));
        Tensor tensor = read.request().inputs().get(0);
        RestBody body = RestWriter.response(
                ALLOCATOR, new InferResponse(MODEL, "", Map.of(), List.of(tensor)), OutputForms.JSON);
        assertThat(body.content().toString(UTF_8)).contains("[NaN,NaN,NaN,Infinity,Infinity,-Infinity,-Infinity]");
        body.release();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            INT8   | [1]   | [128]                    | a value of INT8 is expected, got 128
            INT8   | [1]   | [-129]                   | a value of INT8 is expected, got -129
            UINT8  | [1]   | [256]                    | a value of UINT8 is expected, got 256
            UINT8  | [1]   | [-1]                     | a value of UINT8 is expected, got -1
            UINT8  | [1]   | [1.5]                    | a value of UINT8 is expected, got 1.5
            INT32  | [1]   | [2147483648]             | a value of INT32 is expected, got 2147483648
            INT64  | [1]   | [9223372036854775808]    | a value of INT64 is expected
            UINT64 | [1]   | [18446744073709551616]   | a value of UINT64 is expected
            UINT64 | [1]   | [1e999999999]            | a value of UINT64 is expected, got 1e999999999
            INT32  | [1]   | [true]                   | a value of INT32 is expected, got true
            INT32  | [1]   | ["1"]                    | a value of INT32 is expected, got a string
            INT32  | [1]   | [null]                   | a value of INT32 is expected, got null
            BOOL   | [1]   | [1]                      | a value of BOOL is expected, got 1
            FP32   | [1]   | [1e39]                   | a value of FP32 is expected, got 1e39
            FP32   | [1]   | ["x"]                    | a value of FP32 is expected, got a string
            FP64   | [1]   | [1e400]                  | a value of FP64 is expected, got 1e400
            FP16   | [1]   | [65520]                  | a value of FP16 is expected, got 65520
            BF16   | [1]   | [3.4e38]                 | a value of BF16 is expected, got 3.4e38
            BYTES  | [1]   | [1]                      | a value of BYTES is expected, got 1
            FP32   | [4]   | [1,2]                    | shape [4] needs 4 elements, got 2 in data
            FP32   | [2]   | [1,2,3]                  | shape [2] needs 2 elements, got 3 in data
            FP32   | [2,2] | [[1,2,3],[4]]            | nested arrays of different sizes
            FP32   | [2,2] | [[1,2],3]                | nested arrays of different sizes
            FP32   | [2,2] | [1,[2,3,4]]              | nested arrays of different sizes
            FP32   | [4]   | [[1,2],[3,4]]            | shape [4] is expected of the nested arrays in data, got [2,2]
            FP32   | [2,3] | [[1,2],[3,4],[5,6]]      | shape [2,3] is expected of the nested arrays in data, got [3,2]
            BYTES  | [1]   | ["a",[]]                 | nested arrays of different sizes
            BYTES  | [1]   | [[],[97]]                | nested arrays of different sizes
            BYTES  | [1]   | [[97],[]]                | nested arrays of different sizes
            FP32   | [-1]  | [1]                      | shape [-1] has a negative dimension
            FP32   | [1.0] | [1]                      | integers are expected, got 1.0
            FP32   | ["1"] | [1]                      | integers are expected, got a string
            FP32   | [4294967296,4294967296] | [1]    | more elements than can be counted
            FP32   | [1]   | 1                        | an array is expected for shape [1], got a single value
            FP32   | [1,1] | 1                        | an array is expected for shape [1,1], got a single value
            FP32   | [0]   | 1                        | an array is expected for shape [0], got a single value
            BYTES  | [1]   | "a"                      | an array is expected for shape [1], got a single value
            BYTES  | []    | 1                        | a value of BYTES is expected, got 1
            INT32  | []    | "1"                      | a value of INT32 is expected, got a string
            INT8   | []    | 128                      | a value of INT8 is expected, got 128
            INT8   | []    | []                       | shape [] needs 1 elements, got 0 in data
            FP32   | []    | null                     | one of data, binary_data_size and shared_memory_region is expected, got none
            FP32   | null  | [1]                      | shape: an array is expected, got null
            FP32   | [1]   | {}                       | an array of FP32 is expected, got an object
            FP99   | [1]   | [1]                      | datatype 'FP99' is not defined by the protocol
            fp32   | [1]   | [1]                      | datatype 'fp32' is not defined by the protocol
            """)
    void tensor_invalid_isRefusedByName(String type, String shape, String data, String message) {
        String members = "\"name\":\"x\",\"shape\":" + shape + ",\"datatype\":\"" + type + "\",\"data\":" + data;
        assertThat(failure(input(members).getBytes(UTF_8), RestBody.ALL_JSON))
                .startsWith("input 'x': ")
                .contains(message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {}                                                          | 'inputs' is missing
            {"inputs":{}}                                               | an array
            {"inputs":[1]}                                              | an array of objects is expected, got a number
            {"inputs":[[]]}                                             | an object is expected
            []                                                          | an object is expected, got an array
            {"id":1}                                                    | id: a string is expected, got a number
            {"id":null,"parameters":null,"outputs":null}                | 'inputs' is missing
            {"inputs":null}                                             | inputs: an array of objects is expected, got null
            {"inputs":[null]}                                           | inputs: an array of objects is expected, got null
            {"outputs":[null]}                                          | outputs: an array of objects is expected, got null
            {"id":"a","id":"b"}                                         | key 'id' is given twice
            {"parameters":{"a":null}}                                   | parameter 'a': a string, a number or a boolean
            {"parameters":{"a":[1]}}                                    | parameter 'a': a string, a number or a boolean
            {"parameters":{"a":1,"a":2}}                                | key 'a' is given twice
            {"parameters":{"triton_x":1}}                               | reserved
            {"parameters":{"binary_data_output":1}}                     | a boolean is expected
            {"inputs":[{}]}                                             | inputs[0]: 'name' is missing
            {"inputs":[{"name":null}]}                                  | inputs[0]: 'name' is missing
            {"inputs":[{"name":"x","datatype":null}]}                   | input 'x': 'datatype' is missing
            {"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]},{"shape":[1.5]}]} | inputs[1]: shape: integers are expected
            {"inputs":[{"datatype":"FP32","data":["x"]}]}               | inputs[0]: a value of FP32 is expected, got a string
            {"inputs":[{"datatype":"FP99"}]}                            | inputs[0]: datatype 'FP99' is not defined
            {"inputs":[{"parameters":{"a":[1]}}]}                       | inputs[0]: parameter 'a': a string
            {"inputs":[{"shape":[1],"datatype":"FP32","data":1,"name":"x"}]} | inputs[0]: data: an array is expected for shape [1]
            {"inputs":[{"name":"x"}]}                                   | 'datatype' is missing
            {"inputs":[{"name":"x","datatype":"FP32","data":[]}]}       | 'shape' is missing
            {"inputs":[{"name":"x","datatype":"FP32","shape":[1]}]}     | got none
            {"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"data":[1]}]} | given twice
            {"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}}]} | got 2
            {"inputs":[{"name":"x","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":-4}}]} | a number of bytes
            {"inputs":[{"name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":4}}]} | needs 8 bytes
            {"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1],"parameters":{"shared_memory_region":"r"}}]} | shared memory
            {"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]},{"name":"x","datatype":"FP32","shape":[0],"data":[]}]} | 'x' is given twice
            {"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]}],"outputs":[{"name":"y"},{"name":"y"}]} | output 'y' is given twice
            {"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]}],"outputs":[{"name":"y"},{}]} | outputs[1]: 'name' is missing
            {"inputs":[],"outputs":[{"name":null}]}                     | outputs[0]: 'name' is missing
            {"inputs":[],"outputs":[{"name":"y","parameters":{"a":[1]}}]} | output 'y': parameter 'a': a string
            {"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]}]} 1 | the document is followed by more data
            """)
    void request_invalid_isRefused(String body, String message) {
        assertThat(failure(body.getBytes(UTF_8), RestBody.ALL_JSON)).contains(message);
    }

    /** The message of an error is sent in a header over gRPC. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"%s\"}]}",
                "{\"inputs\":[],\"parameters\":{\"sequence_start\":\"%s\"}}",
                "{\"inputs\":[],\"parameters\":{\"priority\":\"%s\"}}"
            })
    void request_invalid_isRefusedWithAShortText(String body) {
        byte[] bytes = body.formatted("z".repeat(100_000)).getBytes(UTF_8);
        assertThat(failure(bytes, RestBody.ALL_JSON)).contains("zzz\u2026").hasSizeLessThan(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "01",
                "1.",
                ".5",
                "+1",
                "-",
                "1e",
                "1e+",
                "- 1",
                "0x1",
                "1 2",
                "1,,2",
                "1,",
                ",1",
                "tru",
                "nul",
                "True",
                "'a'",
                "\"\\x\"",
                "\"\\u12\"",
                "\"\\ud800\"",
                "\"\\udc00\"",
                "\"a\nb\"",
                "Inf",
                "-NaN",
                "1]",
                "[1",
                "{\"a\" 1}",
                "{a:1}",
                "{1:1}",
                "{\"a\":}",
                "{\"a\":1,}",
                "/*c*/1",
                "\u00a01"
            })
    void json_outsideTheGrammar_isRefused(String value) {
        assertThat(failure(("{\"unknown\":[" + value + "]}").getBytes(UTF_8), RestBody.ALL_JSON))
                .startsWith("malformed JSON at byte ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0",
                "-0",
                "1.5e+10",
                "1E-2",
                "\"\"",
                "\"\\u00e9\\ud83d\\ude00\\/\\b\\f\"",
                "[]",
                "{}",
                "[[[]]]",
                " \t\r\n1 ",
                "{\"a\":{\"b\":[null,true,false]}}"
            })
    void json_withinTheGrammar_isSkipped(String value) {
        String body = "{\"unknown\":[" + value + "],\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[],"
                + "\"data\":[1]}]}";
        read(body).request().release();
    }

    @Test
    void json_notUtf8OrTooDeep_isRefused() {
        byte[] body = "{\"id\":\"?\"}".getBytes(UTF_8);
        body[7] = (byte) 0xff;
        assertThat(failure(body, RestBody.ALL_JSON)).contains("not UTF-8");
        assertThat(failure(("{\"a\":" + "[".repeat(70)).getBytes(UTF_8), RestBody.ALL_JSON))
                .contains("at most 64 levels");
    }

    @Test
    void parameters_keepTypeAndValue() {
        RestRequest read = read("{\"parameters\":{\"i\":-5,\"u\":18446744073709551615,\"d\":0.5,\"s\":\"t\",\"b\":true,"
                + "\"big\":9007199254740993,\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\","
                + "\"datatype\":\"FP32\",\"shape\":[0],\"data\":[]}],\"outputs\":[{\"name\":\"y\","
                + "\"parameters\":{\"binary_data\":false,\"classification\":3}}],\"id\":\"\u00e9\"}");
        InferRequest request = read.request();
        assertThat(request.parameters())
                .containsExactly(
                        Map.entry("i", new Parameter.Int64(-5)),
                        Map.entry("u", new Parameter.Uint64(-1)),
                        Map.entry("d", new Parameter.Float64(0.5)),
                        Map.entry("s", new Parameter.Text("t")),
                        Map.entry("b", new Parameter.Bool(true)),
                        Map.entry("big", new Parameter.Int64(9007199254740993L)));
        assertThat(request.id()).isEqualTo("\u00e9");
        assertThat(request.outputs().get(0).parameters())
                .containsExactly(Map.entry("classification", new Parameter.Int64(3)));
        assertThat(read.outputForms().binary("y")).isFalse();
        assertThat(read.outputForms().binary("z")).isTrue();
        request.release();
    }

    /** Clients in C++ send ids of 2^63 and more as negative int64 over gRPC; JSON has no negative ones. */
    @Test
    void idsAndTimeoutsOf64Bits_areNotNegativeInJson() {
        for (Dialect dialect : Dialect.values()) {
            Parameter value = new Parameter.Int64(-5);
            InferRequest request = new InferRequest(
                    MODEL, "", Map.of("sequence_id", value, "timeout", value, "other", value), List.of(), List.of());
            RestBody body = RestWriter.request(
                    ALLOCATOR, request, new ServerFeatures(Wire.REST, dialect, true, false), Set.of());
            assertThat(body.content().toString(UTF_8))
                    .contains(
                            "\"sequence_id\":18446744073709551611", "\"timeout\":18446744073709551611", "\"other\":-5");
            body.release();
        }
    }

    private static byte[] concat(byte[] a, byte[] b) {
        ByteArrayOutputStream both = new ByteArrayOutputStream();
        both.writeBytes(a);
        both.writeBytes(b);
        return both.toByteArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"NaN", "Infinity", "-Infinity"})
    void wordsThatAreNoJson_outsideTensorData_areRefusedHoweverItIsRead(String word) {
        String tensor = "{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]%s}";
        for (String body : List.of(
                "{\"x\":" + word + ",\"inputs\":[" + tensor.formatted("") + "]}",
                "{\"x\":[{\"y\":[" + word + "]}],\"inputs\":[" + tensor.formatted("") + "]}",
                "{\"id\":" + word + ",\"inputs\":[" + tensor.formatted("") + "]}",
                "{\"parameters\":{\"p\":" + word + "},\"inputs\":[" + tensor.formatted("") + "]}",
                "{\"parameters\":{\"p\":[1," + word + "]},\"inputs\":[" + tensor.formatted("") + "]}",
                "{\"inputs\":[" + tensor.formatted(",\"x\":" + word) + "]}",
                "{\"inputs\":[" + tensor.formatted(",\"parameters\":{\"p\":{\"q\":" + word + "}}") + "]}",
                "{\"inputs\":[" + tensor.formatted("") + "],\"outputs\":[{\"name\":\"y\",\"x\":" + word + "}]}",
                "{\"inputs\":[" + tensor.formatted("") + "],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"p\":" + word
                        + "}}]}")) {
            for (boolean any : new boolean[] {false, true}) {
                assertThat(refused(
                                new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, any, WireLimits.DEFAULT),
                                body))
                        .as(body)
                        .isTrue();
                assertThat(refused(RestRequestReader.skimming(ALLOCATOR, MODEL, any, WireLimits.DEFAULT), body))
                        .as(body)
                        .isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"x\":{\"k\":1,\"k\":2},\"inputs\":[%s]}",
                "{\"x\":[1,{\"a\":[{\"k\":{},\"b\":1,\"k\":2}]}],\"inputs\":[%s]}",
                "{\"x\":{\"k\":1,\"b\":{\"k\":1},\"\\u006b\":2},\"inputs\":[%s]}",
                "{\"parameters\":{\"p\":{\"k\":{\"k\":1},\"k\":2}},\"inputs\":[%s]}",
                "{\"parameters\":{\"p\":[{\"k\":1},{\"k\":1,\"k\":2}]},\"inputs\":[%s]}",
                "{\"inputs\":[%s],\"outputs\":[{\"name\":\"y\",\"x\":{\"k\":1,\"k\":1}}]}",
            })
    void keyGivenTwice_whereNobodyReads_isRefused(String pattern) {
        String body = pattern.formatted("{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}");
        for (boolean skim : new boolean[] {false, true}) {
            for (int cut = 0; cut <= body.length(); cut++) {
                RestRequestReader reader = skim
                        ? RestRequestReader.skimming(ALLOCATOR, MODEL, true, WireLimits.DEFAULT)
                        : new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, true, WireLimits.DEFAULT);
                byte[] bytes = body.getBytes(UTF_8);
                int at = cut;
                assertThatThrownBy(() -> {
                            reader.feed(Unpooled.wrappedBuffer(bytes, 0, at));
                            reader.feed(Unpooled.wrappedBuffer(bytes, at, bytes.length - at));
                            reader.finish().request().release();
                        })
                        .isInstanceOf(OipException.class)
                        .hasMessage("key 'k' is given twice");
                reader.release();
            }
        }
    }

    @Test
    void keysOfDifferentObjects_mayBeTheSame() {
        String body = "{\"x\":[{\"k\":1},{\"k\":{\"k\":[]}}],\"y\":{\"k\":1},\"parameters\":{\"p\":{\"k\":{\"k\":1}},"
                + "\"q\":{\"k\":1}},\"inputs\":[]}";
        RestRequestReader reader = new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, true, WireLimits.DEFAULT);
        assertThat(refused(reader, body)).isFalse();
    }

    @Test
    void keysOfOpenObjects_areCountedWhileTheyAreOpen() {
        String many = IntStream.range(0, 1000).mapToObj(i -> "\"k" + i + "\":1").collect(Collectors.joining(","));
        RestRequestReader reader =
                new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, false, WireLimits.DEFAULT);
        reader.feed(Unpooled.copiedBuffer("{\"x\":{" + many, UTF_8));
        assertThat(reader.held()).isGreaterThan(100_000);
        reader.feed(Unpooled.copiedBuffer("},\"inputs\":[]", UTF_8));
        assertThat(reader.held()).isLessThan(50_000);
        reader.release();
    }

    private static boolean refused(RestRequestReader reader, String body) {
        try {
            reader.feed(Unpooled.wrappedBuffer(body.getBytes(UTF_8)));
            reader.finish().request().release();
            return false;
        } catch (OipException e) {
            return e.code() == ErrorCode.INVALID_ARGUMENT;
        } finally {
            reader.release();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "[]",
                "{}",
                "[1, 2.50,null]",
                "{\"a\" : {\"b\":[\"\\u0041\\ud83d\\ude00é\"]}}",
                "123456789012345678901234567890",
                "-1e999"
            })
    void parameterOfAnyJson_cutAnywhere_isWrittenAgainAsItCame(String value) {
        String p = "\"parameters\":{\"p\":" + value + ",\"q\":1}";
        byte[] body = ("{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP16\"," + p + ",\"data\":[1]}]," + p
                        + ",\"outputs\":[{\"name\":\"y\"," + p + "}]}")
                .getBytes(UTF_8);
        for (int cut = 0; cut <= body.length; cut++) {
            RestRequestReader reader =
                    new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, true, WireLimits.DEFAULT);
            reader.feed(Unpooled.wrappedBuffer(body, 0, cut));
            reader.feed(Unpooled.wrappedBuffer(body, cut, body.length - cut));
            RestRequest read = reader.finish();
            assertThat(read.foreignParameter()).isEqualTo("p");
            Parameter kept = new Parameter.Json(value);
            assertThat(read.request().parameters()).containsEntry("p", kept).hasSize(2);
            assertThat(read.request().inputs().get(0).parameters()).containsEntry("p", kept);
            assertThat(read.request().outputs().get(0).parameters()).containsEntry("p", kept);
            ServerFeatures server = new ServerFeatures(Wire.REST, Dialect.MLSERVER, false, false);
            RestBody written = RestWriter.request(ALLOCATOR, read.request(), server, Set.of());
            assertThat(written.content().toString(UTF_8).split(java.util.regex.Pattern.quote(p), -1))
                    .hasSize(4);
            written.release();
        }
    }

    /**
     * Responses may have NaN and the infinities anywhere; a parameter that contains one is not JSON and is left out.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "null|null",
                "[1, 2.50,null]|[1, 2.50,null]",
                "{\"a\" : {\"b\":[\"\\u0041é\"]}}|{\"a\" : {\"b\":[\"\\u0041é\"]}}",
                "123456789012345678901234567890|123456789012345678901234567890",
                "NaN|",
                "[1,{\"a\":-Infinity}]|",
            })
    void parameterOfAnAnswer_cutAnywhere_isKeptAsItCame(String value, @Nullable String kept) {
        String p = "\"parameters\":{\"p\":" + value + ",\"q\":1}";
        byte[] body = ("{\"model_name\":\"m\",\"outputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP16\"," + p
                        + ",\"data\":[1]}]," + p + "}")
                .getBytes(UTF_8);
        for (int cut = 0; cut <= body.length; cut++) {
            RestResponseReader reader =
                    new RestResponseReader(ALLOCATOR, RestBody.ALL_JSON, WireLimits.DEFAULT, Map.of());
            reader.feed(Unpooled.wrappedBuffer(body, 0, cut));
            reader.feed(Unpooled.wrappedBuffer(body, cut, body.length - cut));
            InferResponse read = reader.finish();
            Map<String, Parameter> expected = new HashMap<>(Map.of("q", new Parameter.Int64(1)));
            if (kept != null) {
                expected.put("p", new Parameter.Json(kept));
            }
            assertThat(read.parameters()).isEqualTo(expected);
            assertThat(read.outputs().get(0).parameters()).isEqualTo(expected);
            read.release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {64, 65, 79, 500, 801, 1100, 5000, 100_000})
    void numbersOfManyCharacters_areReadToTheNearest(int length) {
        String zeros = "0".repeat(length);
        assertThat(doubles("-0." + zeros + "1"))
                .containsExactly(length < 323 ? -Double.parseDouble("1e-" + (length + 1)) : -0.0);
        assertThat(doubles("1." + zeros)).containsExactly(1.0);
        assertThat(doubles("0." + zeros + "1e" + length)).containsExactly(0.1);
        assertThat(doubles("1" + zeros + "e-" + length)).containsExactly(1.0);
        assertThat(doubles("1." + zeros + "1")).containsExactly(1.0);
        // Next to the midpoint of two doubles, by a digit far after.
        String middle = new java.math.BigDecimal(1)
                .add(new java.math.BigDecimal(Math.scalb(1.0, -53)))
                .toPlainString();
        assertThat(doubles(middle + zeros)).containsExactly(1.0);
        assertThat(doubles(middle + zeros + "1")).containsExactly(Math.nextUp(1.0));
        String halfMiddle = "1.00048828125";
        assertThat(halves(halfMiddle + zeros)).isEqualTo((short) 0x3c00);
        assertThat(halves(halfMiddle + zeros + "1")).isEqualTo((short) 0x3c01);
        assertThat(integers("7." + zeros)).isEqualTo(7);
        assertThat(integers("7" + zeros + "e-" + length)).isEqualTo(7);
        for (String no :
                List.of("7." + zeros + "1", "7" + zeros, "1e999999999", "1e-999999999", "7.0" + zeros + "5e1")) {
            assertThat(failure(input(number("INT64", no)).getBytes(UTF_8), RestBody.ALL_JSON))
                    .contains("a value of INT64 is expected, got ")
                    .hasSizeLessThan(200);
        }
        assertThat(failure(input(number("FP32", "1" + zeros + "e39")).getBytes(UTF_8), RestBody.ALL_JSON))
                .contains("a value of FP32 is expected");
    }

    /** The maximum number of digits, and an exponent that compensates for them. */
    @Test
    void exponentOfAsManyDigitsAsANumberMayHave_isRead() {
        String zeros = "0".repeat(1_048_000);
        assertThat(doubles("0." + zeros + "1e1048001")).containsExactly(1.0);
        assertThat(doubles("1" + zeros + "e-1048000")).containsExactly(1.0);
        assertThat(doubles("1" + "0".repeat(1_047_000) + "1e-1047001")).containsExactly(1.0);
        assertThat(integers("70" + zeros + "e-1048001")).isEqualTo(7);
    }

    @Test
    void numberOfMoreCharactersThanTheLimit_isRefused() {
        String max = "1." + "0".repeat((1 << 20) - 2);
        assertThat(doubles(max)).containsExactly(1.0);
        assertThat(failure(input(number("FP64", max + "0")).getBytes(UTF_8), RestBody.ALL_JSON))
                .contains("a number has more than 1048576 characters");
    }

    @Test
    void minusZeroThatLooksLikeAnInteger_isToldOf() {
        for (String type : List.of("FP32", "FP64")) {
            for (String data : List.of("[-0]", "[1.5,-0]", "[1.5,2.5,3.5,-0,1]")) {
                int count = data.split(",", -1).length;
                RestRequest read = read("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + type + "\",\"shape\":[" + count
                        + "],\"data\":" + data + "}]}");
                assertThat(read.contestedInputs()).isTrue();
                read.request().release();
            }
        }
    }

    private static String number(String type, String value) {
        return "\"name\":\"x\",\"shape\":[1],\"datatype\":\"" + type + "\",\"data\":[" + value + "]";
    }

    private static double[] doubles(String value) {
        RestRequest read = read(input(number("FP64", value)));
        double got = read.request().inputs().get(0).data().getDoubleLE(0);
        read.request().release();
        return new double[] {got};
    }

    private static short halves(String value) {
        RestRequest read = read(input(number("FP16", value)));
        short got = read.request().inputs().get(0).data().getShortLE(0);
        read.request().release();
        return got;
    }

    private static long integers(String value) {
        RestRequest read = read(input(number("INT64", value)));
        long got = read.request().inputs().get(0).data().getLongLE(0);
        read.request().release();
        return got;
    }

    @Test
    void bytesOfSixteenDimensions_asArraysOfTheirBytes_areRead() {
        for (int rank = 1; rank <= 16; rank++) {
            String shape = "[" + "1,".repeat(rank - 1) + "2]";
            for (String elements : List.of("[[104,105],[0,255]]", "[\"hi\",[0,255]]")) {
                String data = "[".repeat(rank - 1) + elements + "]".repeat(rank - 1);
                for (String members : List.of(
                        "\"name\":\"x\",\"shape\":" + shape + ",\"datatype\":\"BYTES\",\"data\":" + data,
                        "\"data\":" + data + ",\"name\":\"x\",\"shape\":" + shape + ",\"datatype\":\"BYTES\"")) {
                    RestRequest read = read(input(members));
                    assertThat(ByteBufUtil.getBytes(
                                    read.request().inputs().get(0).data()))
                            .isEqualTo(new byte[] {2, 0, 0, 0, 'h', 'i', 2, 0, 0, 0, 0, -1});
                    read.request().release();
                }
            }
        }
        String deep = "[".repeat(17) + "%s" + "]".repeat(17);
        for (String element : List.of("\"a\"", "[1]", "[\"a\"]")) {
            assertThat(failure(
                            input("\"name\":\"x\",\"shape\":[" + "1,".repeat(15) + "1],\"datatype\":\"BYTES\",\"data\":"
                                            + deep.formatted(element))
                                    .getBytes(UTF_8),
                            RestBody.ALL_JSON))
                    .contains("nested arrays");
        }
    }

    @Test
    void requestWithoutInputs_isTheModelsToRefuse() {
        for (boolean binary : new boolean[] {false, true}) {
            RestRequest read = read("{\"inputs\":[]}");
            assertThat(read.request().inputs()).isEmpty();
            RestBody body = RestWriter.request(
                    ALLOCATOR, read.request(), new ServerFeatures(Wire.REST, Dialect.GENERIC, binary, false), Set.of());
            assertThat(body.content().toString(UTF_8)).contains("\"inputs\":[]");
            assertThat(body.jsonLength()).isEqualTo(RestBody.ALL_JSON);
            body.release();
        }
        assertThat(failure("{}".getBytes(UTF_8), RestBody.ALL_JSON)).contains("'inputs' is missing");
    }

    @Test
    void tensors_asManyAsTheLimit_areTaken() {
        for (int max : new int[] {1, 300, 4096}) {
            WireLimits limits = WireLimits.DEFAULT.withTensors(max);
            for (int extra = 0; extra < 2; extra++) {
                StringBuilder body = new StringBuilder("{\"inputs\":[");
                for (int i = 0; i < max + extra; i++) {
                    body.append(i == 0 ? "" : ",")
                            .append("{\"name\":\"x")
                            .append(i)
                            .append("\",\"shape\":[1],\"datatype\":\"INT64\",\"data\":[")
                            .append(i)
                            .append("]}");
                }
                body.append("]}");
                assertThat(refused(
                                new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, false, limits),
                                body.toString()))
                        .isEqualTo(extra == 1);
            }
        }
    }

    @Test
    void binary_isNotCopied() {
        String json =
                input("\"name\":\"x\",\"shape\":[4],\"datatype\":\"UINT8\",\"parameters\":{\"binary_data_size\":4}");
        ByteBuf body = Unpooled.directBuffer().writeBytes(json.getBytes(UTF_8)).writeBytes(new byte[] {1, 2, 3, 4});
        RestRequestReader reader = new RestRequestReader(ALLOCATOR, MODEL, json.length(), false, WireLimits.DEFAULT);
        reader.feed(body);
        RestRequest read = reader.finish();
        body.setByte(json.length(), 9);
        assertThat(read.request()
                        .inputs()
                        .get(0)
                        .data()
                        .getByte(read.request().inputs().get(0).data().readerIndex()))
                .isEqualTo((byte) 9);
        read.request().release();
        body.release();
    }
}

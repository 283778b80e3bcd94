package dev.isthmus.transcoder.protobuf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Accepts what the parsers of C++, upb (Python), Go and Java all accept, and rejects what one of them rejects. */
class WireFormatTest {
    private static final ModelInferRequest REQUEST = ModelInferRequest.newBuilder()
            .setModelName("m")
            .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("x")
                    .setDatatype("INT32")
                    .addShape(2))
            .addRawInputContents(ByteString.copyFrom(new byte[8]))
            .build();

    /** INT32, [2], with typed contents at the end. */
    private static final ModelInferRequest TYPED = ModelInferRequest.newBuilder()
            .addInputs(REQUEST.getInputs(0).toBuilder()
                    .setContents(
                            InferTensorContents.newBuilder().addIntContents(7).addIntContents(-1)))
            .build();

    private static byte[] hex(String text) {
        return HexFormat.of().parseHex(text.replace(" ", ""));
    }

    private static byte[] with(String more) {
        return REQUEST.toByteString().concat(ByteString.copyFrom(hex(more))).toByteArray();
    }

    private static InferRequest read(byte[] message) {
        ProtobufReader.outline(Unpooled.wrappedBuffer(message));
        ProtobufReader.check(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT, null);
        return ProtobufReader.request(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT);
    }

    private static void assertRefused(byte[] message, String text) {
        ByteBuf buffer = Unpooled.wrappedBuffer(message);
        assertThatThrownBy(() -> ProtobufReader.check(buffer, WireLimits.DEFAULT, null))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessageContaining(text);
        assertThatThrownBy(() -> ProtobufReader.request(buffer, WireLimits.DEFAULT))
                .hasMessageContaining(text);
    }

    /** Fields of two bytes each, of which one message may have thousands, but not millions. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            unknown                           |                               | 78 00 | 16384
            unknown in a group                | 7b 7c                         | 78 00 | 16384
            name of an input                  | 2a                            | 0a 00 | 16384
            empty shape of an input           | 2a                            | 1a 00 | 16384
            unknown in an input               | 2a                            | 78 00 | 16384
            name of an output                 | 32                            | 0a 00 | 16384
            value of a parameter              | 22                            | 12 00 | 16384
            model                             |                               | 0a 00 | 262144
            """)
    void manyFields_areRefused(String what, String around, String field, int most) {
        for (int count : new int[] {most / 2, most + 20}) {
            byte[] fields = hex(field.repeat(count));
            ByteBuf message = Unpooled.buffer().writeBytes(hex(REQUEST_HEX));
            String outer = around == null ? "" : around;
            if (outer.startsWith("7b")) {
                message.writeByte(0x7b).writeBytes(fields).writeByte(0x7c);
            } else if (outer.length() == 2) {
                message.writeBytes(hex(outer));
                for (int length = fields.length; ; length >>>= 7) {
                    message.writeByte(length < 0x80 ? length : (length & 0x7f) | 0x80);
                    if (length < 0x80) {
                        break;
                    }
                }
                message.writeBytes(fields);
            } else {
                message.writeBytes(fields);
            }
            String limit = "at most " + most + " ";
            byte[] all = ByteBufUtil.getBytes(message);
            assertThatThrownBy(() -> {
                        read(all);
                        throw OipException.invalid("read");
                    })
                    .isInstanceOfSatisfying(OipException.class, e -> {
                        if (count > most) {
                            assertThat(e).as(what).hasMessageContaining(limit);
                        } else {
                            assertThat(e.getMessage()).as(what).doesNotContain(limit);
                        }
                    });
        }
    }

    private static final String REQUEST_HEX = HexFormat.of().formatHex(REQUEST.toByteArray());

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            tag of six bytes            | 8a 80 80 80 80 00 01 6e                | more than 32 bits
            tag of ten bytes            | 8a 80 80 80 80 80 80 80 80 00 01 6e    | more than 32 bits
            tag of 33 bits              | 8a 80 80 80 10 01 6e                   | more than 32 bits
            length of six bytes         | 0a 81 80 80 80 80 00 6e                | more than 32 bits
            length beyond the message   | 0a ff ff ff ff 0f 6e                   | bytes has 1 left
            value of 65 bits            | 98 06 ff ff ff ff ff ff ff ff ff 02    | more than 64 bits
            value of eleven bytes       | 98 06 80 80 80 80 80 80 80 80 80 80 00 | more than 64 bits
            field 0                     | 02 00                                  | number 0
            end of no group             | 9c 06                                  | ends without having begun
            end of another group        | 9b 06 a4 06                            | ends without having begun
            group without end           | 9b 06 08 01                            | ends within a field
            field 0 in a group          | 9b 06 00 00 9c 06                      | number 0
            wire type 6                 | 9e 06                                  | wire type 6 is unknown
            wire type 7                 | 9f 06                                  | wire type 7 is unknown
            name that is not UTF-8      | 0a 01 ff                               | not UTF-8
            surrogate in the name       | 0a 03 ed a0 80                         | not UTF-8
            fixed number cut off        | 99 06 00 00                            | ends within a field
            """)
    void field_malformed_isRefused(String what, String field, String text) {
        assertThat(what).isNotEmpty();
        assertRefused(with(field), text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "9b 06 9c 06",
                "9b 06 08 01 12 01 61 1d 00 00 00 00 21 00 00 00 00 00 00 00 00 9c 06",
                "9b 06 a3 06 a4 06 9c 06",
                "98 06 ff ff ff ff ff ff ff ff ff 01",
                "98 86 80 80 00 81 80 80 80 80 80 80 80 80 00",
                "08 05",
                "0d 00 00 00 00",
                "0b 0c",
                "28 05",
                "2d 00 00 00 00",
                "38 05",
                "3b 3c",
                "20 01"
            })
    void field_unknown_isSkipped(String field) {
        InferRequest read = read(with(field));
        assertThat(read.model().name()).isEqualTo("m");
        assertThat(read.inputs()).hasSize(1);
        read.release();
        ByteBuf spliced = ProtobufSplice.request(
                ByteBufAllocator.DEFAULT, Unpooled.wrappedBuffer(with(field)), ModelRef.of("other"));
        assertThat(ByteBufUtil.hexDump(spliced)).endsWith(field.replace(" ", ""));
        spliced.release();
    }

    @Test
    void varints_longerThanNeeded_areRead() {
        InferRequest read = read(with("8a 80 80 80 00 81 80 80 80 00 6e"));
        assertThat(read.model().name()).isEqualTo("n");
        read.release();
    }

    @Test
    void groups_areTakenToTheDepthOfEveryParser() {
        read(with("9b06".repeat(100) + "9c06".repeat(100))).release();
        assertRefused(with("9b06".repeat(101) + "9c06".repeat(101)), "nested more than 100 deep");
    }

    private static byte[] input(String type, String contents) {
        byte[] head = REQUEST.getInputs(0).toBuilder().setDatatype(type).build().toByteArray();
        ByteString tensor = ByteString.copyFrom(head).concat(ByteString.copyFrom(hex(contents)));
        return ByteString.copyFrom(new byte[] {0x2a, (byte) tensor.size()})
                .concat(tensor)
                .toByteArray();
    }

    private static String contents(byte[] message) {
        InferRequest read = read(message);
        try {
            return ByteBufUtil.hexDump(read.inputs().get(0).data());
        } finally {
            read.release();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            packed                   | 2a 04 12 02 01 02
            one field each           | 2a 04 10 01 10 02
            in two pieces            | 2a 03 12 01 01 2a 02 10 02
            in two pieces, one empty | 2a 00 2a 04 12 02 01 02
            in two pieces, other between | 2a 02 10 01 98 06 05 2a 02 10 02
            unknown field            | 2a 07 12 02 01 02 98 06 05
            unknown group            | 2a 08 9b 06 9c 06 12 02 01 02
            other lists, empty       | 2a 08 0a 00 32 00 12 02 01 02
            other wire type          | 2a 09 15 00 00 00 00 12 02 01 02
            bytes as a number        | 2a 06 40 05 12 02 01 02
            """)
    void contents_inAnyForm_areRead(String what, String contents) {
        assertThat(contents(input("INT32", contents))).as(what).isEqualTo("0100000002000000");
    }

    @Test
    void contents_ofAnotherList_areRefused() {
        assertRefused(input("INT32", "2a 06 0a 02 01 01 10 01"), "belongs in int_contents, got bool_contents");
        assertRefused(input("INT32", "2a 04 12 02 01 02 2a 02 42 00"), "belongs in int_contents, got bytes_contents");
    }

    @Test
    void contents_empty_areNoData() {
        for (String empty : new String[] {"2a 00", "2a 02 12 00", "2a 03 98 06 05", "2a 00 2a 00"}) {
            byte[] message = ByteString.copyFrom(input("INT32", empty))
                    .concat(ByteString.copyFrom(hex("3a 08 01 00 00 00 02 00 00 00")))
                    .toByteArray();
            assertThat(contents(message)).isEqualTo("0100000002000000");
            assertThat(ProtobufReader.check(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT, null))
                    .isEqualTo(new ProtobufReader.Contested(false, true, false, false, ""));
        }
        assertRefused(input("INT32", "2a 00"), "needs 8 bytes, got 0");
    }

    @Test
    void typed_rawForm_isLimited() {
        assertThatThrownBy(() -> ProtobufReader.request(
                        Unpooled.wrappedBuffer(TYPED.toByteArray()), WireLimits.DEFAULT.withBodyBytes(4)))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE))
                .hasMessage("input 'x': at most 4 bytes are accepted");
    }

    /** The message of an error is sent in a header. */
    @Test
    void text_long_isCutInMessages() {
        String text = "z".repeat(16_000);
        ByteString key =
                ModelInferRequest.newBuilder().setModelName(text).build().toByteString();
        ByteString entry = key.concat(ByteString.copyFrom(hex("18 01")));
        ModelInferRequest.InferRequestedOutputTensor output = ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                .setName(text)
                .putParameters(
                        "shared_memory_region",
                        InferParameter.newBuilder().setStringParam("r").build())
                .build();
        List<ByteString> fields = List.of(
                ModelInferRequest.newBuilder()
                        .addRawInputContents(entry)
                        .build()
                        .toByteString(),
                ModelInferRequest.newBuilder().addOutputs(output).build().toByteString(),
                ModelInferRequest.newBuilder()
                        .addInputs(REQUEST.getInputs(0).toBuilder().setDatatype(text))
                        .build()
                        .toByteString());
        for (ByteString field : fields) {
            byte[] message = REQUEST.toByteString().concat(field).toByteArray();
            int at = REQUEST.getSerializedSize();
            // Bytes of raw contents become an entry of the parameters.
            message[at] = message[at] == 0x3a ? 0x22 : message[at];
            assertThatThrownBy(() -> ProtobufReader.request(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT))
                    .isInstanceOfSatisfying(
                            OipException.class, e -> assertThat(e.message()).hasSizeLessThan(200));
        }
    }

    private static Map<String, Parameter> parameters(String entries) {
        InferRequest read = read(with(entries));
        try {
            assertThat(ProtobufReader.parameters(Unpooled.wrappedBuffer(with(entries))))
                    .isEqualTo(read.parameters());
            return read.parameters();
        } finally {
            read.release();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            value                            | 22 07 0a 01 70 12 02 10 03
            no value before one              | 22 03 0a 01 70 22 07 0a 01 70 12 02 10 03
            last entry                       | 22 07 0a 01 70 12 02 10 09 22 07 0a 01 70 12 02 10 03
            last choice                      | 22 0a 0a 01 70 12 05 1a 01 61 10 03
            value in two pieces              | 22 09 0a 01 70 12 02 10 03 12 00
            key last                         | 22 07 12 02 10 03 0a 01 70
            unknown field in the value       | 22 0a 0a 01 70 12 05 98 06 05 10 03
            other wire type in the value     | 22 09 0a 01 70 12 04 10 03 18 01
            """)
    void parameter_isTheOneThatServersSee(String what, String entries) {
        assertThat(parameters(entries)).as(what).containsExactly(Map.entry("p", new Parameter.Int64(3)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            22 03 0a 01 70                                  | parameter 'p' has no value
            22 07 0a 01 70 12 02 10 03 22 03 0a 01 70       | parameter 'p' has no value
            22 09 0a 01 70 12 02 10 03 18 01                | neither key nor value
            22 09 08 05 0a 01 70 12 02 10 03                | neither key nor value
            22 0b 0a 01 70 12 02 10 03 9b 06 9c 06          | neither key nor value
            22 05 0a 01 70 10 03                            | neither key nor value
            """)
    void parameter_thatServersMaySeeOtherwise_isRefused(String entries, String text) {
        assertRefused(with(entries), text);
        assertThat(ProtobufReader.outline(Unpooled.wrappedBuffer(with(entries))).parameters())
                .isEmpty();
    }

    @Test
    void parameter_wideInAnyEntry_isSaid() {
        InferParameter wide = InferParameter.newBuilder().setDoubleParam(0.5).build();
        byte[] message = REQUEST.toBuilder().putParameters("p", wide).build().toByteArray();
        assertThat(ProtobufReader.check(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT, null)
                        .wideParameters())
                .isTrue();
    }

    @Test
    void headEnd_tagOfRawContents_onlyAsBytes() {
        byte[] message =
                ByteString.copyFrom(hex("38 05")).concat(REQUEST.toByteString()).toByteArray();
        int head = new RequestHeadFinder().in(Unpooled.wrappedBuffer(message));
        assertThat(head).isEqualTo(message.length - 10);
        assertThat(RawRequest.of(Unpooled.wrappedBuffer(message, 0, head), message.length, WireLimits.DEFAULT))
                .isNotNull();
    }
}

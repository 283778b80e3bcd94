package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Binary REST requests that are converted to protobuf while the body arrives. */
class RestPartsTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final Transcoder TRANSCODER = new Transcoder(WireLimits.DEFAULT);
    private static final ServerFeatures GRPC = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, true, false);
    private static final ModelRef MODEL = new ModelRef("m", "2");

    /** A body that begins with JSON. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Body(String json, byte[] bytes) {
        static Body of(String json, int behind) {
            byte[] bytes = new byte[json.length() + behind];
            new Random(behind).nextBytes(bytes);
            System.arraycopy(json.getBytes(ISO_8859_1), 0, bytes, 0, json.length());
            return new Body(json, bytes);
        }

        RestRequestReader reader() {
            return new RestRequestReader(ALLOCATOR, MODEL, json.length(), false, WireLimits.DEFAULT);
        }

        ByteBuf part(int from, int to) {
            return ALLOCATOR.buffer(to - from + 1).writeBytes(bytes, from, to - from);
        }

        /** The message for a server that gets the complete request. */
        byte[] gathered() {
            RestRequestReader reader = reader();
            ByteBuf whole = part(0, bytes.length);
            reader.feed(whole);
            whole.release();
            InferMessage.DecodedRequest request =
                    new InferMessage.DecodedRequest(reader.finish().request());
            ByteBuf message = ((InferMessage.ProtobufMessage) TRANSCODER.request(ALLOCATOR, request, GRPC)).message();
            byte[] encoded = ByteBufUtil.getBytes(message);
            message.release();
            return encoded;
        }
    }

    private static String input(String name, DataType type, int elements) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"" + type + "\",\"shape\":[" + elements
                + "],\"parameters\":{\"binary_data_size\":" + elements * type.size() + "}}";
    }

    private static Body body(int behind, String... inputs) {
        return Body.of(
                "{\"id\":\"a\",\"parameters\":{\"p\":1,\"content_type\":\"base64\",\"binary_data_output\":true},\"outputs\":"
                        + "[{\"name\":\"y\"}],\"inputs\":[" + String.join(",", inputs) + "]} ",
                behind);
    }

    static Stream<Body> bodies() {
        return Stream.of(
                body(12, input("x", DataType.FP32, 3)),
                body(11, input("x", DataType.INT16, 4), input("y", DataType.BOOL, 3)),
                body(9, input("x", DataType.UINT8, 0), input("y", DataType.FP64, 1), input("z", DataType.INT8, 1)),
                body(8, input("x", DataType.FP64, 1), input("y", DataType.BF16, 0)),
                body(0, input("x", DataType.INT64, 0)));
    }

    /** Feeds the body in parts that end at these indices, and takes the available bytes after each. */
    private static byte[] passed(Body body, int... ends) {
        RestRequestReader reader = body.reader();
        ByteBuf out = Unpooled.buffer();
        RestParts parts = null;
        long length = -1;
        int from = 0;
        for (int end : ends) {
            ByteBuf chunk = body.part(from, end);
            reader.feed(chunk);
            chunk.release();
            from = end;
            if (parts == null) {
                RestRequest head = reader.head(body.bytes().length);
                assertThat(head == null).isEqualTo(end < body.json().length());
                if (head != null) {
                    parts = TRANSCODER.parts(ALLOCATOR, head.request(), reader, GRPC);
                    length = parts.length();
                }
            }
            if (parts != null) {
                ByteBuf taken = parts.take();
                out.writeBytes(taken);
                taken.release();
                assertThat(reader.held()).isZero();
            }
        }
        reader.requireComplete();
        assertThat(length).isEqualTo(out.readableBytes());
        return ByteBufUtil.getBytes(out);
    }

    @ParameterizedTest
    @MethodSource("bodies")
    void body_inAnyThreeParts_isTheMessageThatAGatheredOneIs(Body body) {
        byte[] expected = body.gathered();
        int length = body.bytes().length;
        int json = body.json().length();
        for (int first = 0; first <= length; first++) {
            // Splits within the JSON are tested with the tokenizer: one is enough for each split after it.
            for (int second = Math.max(first, json - 1); second <= (first < json - 1 ? json : length); second++) {
                assertThat(passed(body, first, second, length))
                        .as("split at %d and %d", first, second)
                        .isEqualTo(expected);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("bodies")
    void body_byteForByte_isTheMessageThatAGatheredOneIs(Body body) {
        int[] ends = new int[body.bytes().length];
        java.util.Arrays.setAll(ends, i -> i + 1);
        assertThat(passed(body, ends)).isEqualTo(body.gathered());
    }

    @ParameterizedTest
    @EnumSource(value = DataType.class, mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
    void tensor_ofEachFixedDatatype_passes(DataType type) {
        Body body = body(700 * type.size(), input("x", type, 700));
        int length = body.bytes().length;
        assertThat(passed(body, body.json().length() + 9, length - 5, length)).isEqualTo(body.gathered());
    }

    @Test
    void largeParts_areNotCopied() {
        Body body = body(8192, input("x", DataType.UINT8, 8192));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.bytes().length);
        reader.feed(chunk);
        RestRequest head = Objects.requireNonNull(reader.head(body.bytes().length));
        ByteBuf taken =
                TRANSCODER.parts(ALLOCATOR, head.request(), reader, GRPC).take();
        chunk.setByte(chunk.writerIndex() - 1, 77);
        assertThat(taken.getByte(taken.writerIndex() - 1)).isEqualTo((byte) 77);
        taken.release();
        chunk.release();
        reader.release();
    }

    @Test
    void parts_thatAreTakenLate_areHeldUntilThen() {
        Body body = body(3000, input("x", DataType.UINT8, 1000), input("y", DataType.UINT8, 2000));
        RestRequestReader reader = body.reader();
        List<Integer> ends = new ArrayList<>(List.of(body.json().length(), 1500, body.bytes().length));
        int from = 0;
        for (int end : ends) {
            ByteBuf chunk = body.part(from, end);
            reader.feed(chunk);
            chunk.release();
            from = end;
        }
        assertThat(reader.held()).isEqualTo(3000);
        RestRequest head = Objects.requireNonNull(reader.head(body.bytes().length));
        RestParts parts = TRANSCODER.parts(ALLOCATOR, head.request(), reader, GRPC);
        assertThat(parts.waits()).isTrue();
        ByteBuf taken = parts.take();
        assertThat(parts.waits()).isFalse();
        assertThat(ByteBufUtil.getBytes(taken)).isEqualTo(body.gathered());
        taken.release();
        assertThat(parts.take().isReadable()).isFalse();
        reader.release();
    }

    @Test
    void body_thatEndsEarly_isRefused() {
        Body body = body(4, input("x", DataType.INT32, 1));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.bytes().length - 1);
        reader.feed(chunk);
        chunk.release();
        assertThat(reader.head(body.bytes().length)).isNotNull();
        assertThatThrownBy(reader::requireComplete)
                .hasMessage("input 'x': a binary_data_size of 4 is announced, but 3 bytes follow");
        assertThat(reader.held()).isZero();
    }

    @Test
    void head_thatGoesNowhere_isGivenBack() {
        Body body = body(4, input("x", DataType.INT32, 1));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.bytes().length - 1);
        reader.feed(chunk);
        chunk.release();
        RestRequest head = Objects.requireNonNull(reader.head(body.bytes().length));
        RestParts parts = TRANSCODER.parts(ALLOCATOR, head.request(), reader, GRPC);
        parts.release();
        parts.release();
        reader.release();
        assertThat(reader.held()).isZero();
    }

    @Test
    void head_thatWasSeen_canStillBeGathered() {
        Body body = body(4, input("x", DataType.INT32, 1));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.bytes().length);
        reader.feed(chunk);
        chunk.release();
        assertThat(reader.head(body.bytes().length)).isNotNull();
        RestRequest read = reader.finish();
        assertThat(read.request().inputs().get(0).data().readableBytes()).isEqualTo(4);
        read.request().release();
    }

    private static void noHead(Body body, long bodyLength) {
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.json().length());
        reader.feed(chunk);
        chunk.release();
        assertThat(reader.head(bodyLength)).isNull();
        reader.release();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1, 3, 5, Integer.MAX_VALUE})
    void body_thatIsNotOfTheAnnouncedSizes_isGathered(int behind) {
        Body body = body(4, input("x", DataType.INT32, 1));
        noHead(body, (long) body.json().length() + behind);
    }

    @Test
    void sizes_thatAreMoreThanCanBeAdded_areGathered() {
        String huge = "{\"name\":\"%s\",\"datatype\":\"UINT8\",\"shape\":[" + Long.MAX_VALUE
                + "],\"parameters\":{\"binary_data_size\":" + Long.MAX_VALUE + "}}";
        Body body = body(4, huge.formatted("x"), huge.formatted("y"));
        noHead(body, body.json().length() + 4);
    }

    static Stream<String> gathered() {
        return Stream.of(
                "{\"name\":\"x\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}",
                "{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1],\"parameters\":{\"binary_data_size\":0}}",
                "{\"name\":\"x\",\"shape\":[1],\"data\":[\"a\"],\"datatype\":\"BYTES\"}");
    }

    @ParameterizedTest
    @MethodSource("gathered")
    void mixedInputs_areGathered(String other) {
        Body last = body(4, input("y", DataType.INT32, 1), other);
        noHead(last, last.bytes().length);
        Body first = body(4, other, input("y", DataType.INT32, 1));
        noHead(first, first.bytes().length);
    }

    @Test
    void json_thatIsNotComplete_hasNoHead() {
        Body body = body(4, input("x", DataType.INT32, 1));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.json().length() - 1);
        reader.feed(chunk);
        chunk.release();
        assertThat(reader.head(body.bytes().length)).isNull();
        reader.release();
    }

    @Test
    void requestInShortJson_hasNoHead() {
        RestRequestReader reader = new RestRequestReader(ALLOCATOR, MODEL, -1, false, WireLimits.DEFAULT);
        reader.feed(Unpooled.copiedBuffer(body(0, input("x", DataType.INT32, 0)).json(), ISO_8859_1));
        assertThat(reader.head(1000)).isNull();
        reader.release();
    }

    @Test
    void sameNames_areRefusedBeforeTheDataComes() {
        Body body = body(8, input("x", DataType.INT32, 1), input("x", DataType.INT32, 1));
        RestRequestReader reader = body.reader();
        ByteBuf chunk = body.part(0, body.bytes().length - 1);
        reader.feed(chunk);
        chunk.release();
        assertThatThrownBy(() -> reader.head(body.bytes().length))
                .isInstanceOf(OipException.class)
                .hasMessage("input 'x' is given twice");
        assertThat(reader.held()).isZero();
    }

    @Test
    void outputInSharedMemory_isRefusedForAServerWithout() {
        String json = "{\"inputs\":[" + input("x", DataType.INT32, 1) + "],\"outputs\":[{\"name\":\"y\",\"parameters\":"
                + "{\"shared_memory_region\":\"r\"}}]}";
        Body body = Body.of(json, 4);
        RestRequestReader reader = new RestRequestReader(
                ALLOCATOR, MODEL, json.length(), false, WireLimits.DEFAULT.withSharedMemory(true));
        ByteBuf chunk = body.part(0, json.length());
        reader.feed(chunk);
        chunk.release();
        RestRequest head = Objects.requireNonNull(reader.head(body.bytes().length));
        assertThatThrownBy(() -> TRANSCODER.parts(ALLOCATOR, head.request(), reader, GRPC))
                .hasMessage("output 'y': shared memory is not enabled");
        reader.release();
    }
}

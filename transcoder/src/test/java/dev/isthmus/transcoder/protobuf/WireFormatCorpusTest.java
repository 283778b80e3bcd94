package dev.isthmus.transcoder.protobuf;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageOrBuilder;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Compares requests in every encoding that the wire format allows, and malformed ones, with protobuf-java. A message
 * and its canonical form, as written by protobuf-java, must both be accepted with the same values, or both be rejected.
 * protobuf-java accepts too long varints and map entries with unknown fields, which servers do not: these are
 * recognized by our reader's messages.
 */
class WireFormatCorpusTest {
    private static final int MESSAGES = 20_000;
    private static final String[] UNKNOWN = {"9b069c06", "98068001", "9a060161", "9906" + "00".repeat(8), "9d0600000000"
    };
    private static final String[] STRICTER = {"more than 32 bits", "more than 64 bits", "neither key nor value"};

    private final Random random = new Random(16);

    @Test
    void anyForm_isReadAsProtobufReadsIt() throws InvalidProtocolBufferException {
        int taken = 0;
        for (int i = 0; i < MESSAGES; i++) {
            byte[] message = form(request()).toByteArray();
            Optional<InferRequestBytes> canonical = read(canonical(message));
            assertThat(read(message)).as(HexFormat.of().formatHex(message)).isEqualTo(canonical);
            taken += canonical.isPresent() ? 1 : 0;
        }
        assertThat(taken).isGreaterThan(MESSAGES / 2);
    }

    @Test
    void anyBytes_areRefusedWhereProtobufRefusesThem() {
        int taken = 0;
        for (int i = 0; i < MESSAGES; i++) {
            byte[] message = broken(form(request()).toByteArray());
            String hex = HexFormat.of().formatHex(message);
            try {
                Optional<InferRequestBytes> expected = read(canonical(message));
                Optional<InferRequestBytes> read = stricter(message) ? expected : read(message);
                assertThat(read).as(hex).isEqualTo(expected);
                taken += read.isPresent() ? 1 : 0;
            } catch (InvalidProtocolBufferException e) {
                assertThat(read(message)).as(hex).isEmpty();
            }
        }
        assertThat(taken).isGreaterThan(MESSAGES / 50);
    }

    @Test
    void splice_changesTheModelAndNothingElse() throws InvalidProtocolBufferException {
        for (int i = 0; i < MESSAGES / 10; i++) {
            byte[] message = form(request()).toByteArray();
            ByteBuf spliced = ProtobufSplice.request(
                    ByteBufAllocator.DEFAULT, Unpooled.wrappedBuffer(message), new ModelRef("other", "7"));
            assertThat(ModelInferRequest.parseFrom(ByteBufUtil.getBytes(spliced)))
                    .isEqualTo(ModelInferRequest.parseFrom(message).toBuilder()
                            .setModelName("other")
                            .setModelVersion("7")
                            .build());
            spliced.release();
        }
    }

    /** A message that was read, as encoded by our writer. */
    private record InferRequestBytes(String outline, String message) {}

    private static Optional<InferRequestBytes> read(byte[] message) {
        try {
            ProtobufReader.check(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT, null);
        } catch (OipException e) {
            return Optional.empty();
        }
        var outline = ProtobufReader.outline(Unpooled.wrappedBuffer(message));
        InferRequest request = ProtobufReader.request(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT);
        assertThat(outline.model()).isEqualTo(request.model());
        assertThat(outline.id()).isEqualTo(request.id());
        assertThat(outline.parameters()).isEqualTo(request.parameters());
        ByteBuf written = ProtobufWriter.request(ByteBufAllocator.DEFAULT, request, Dialect.GENERIC);
        try {
            return Optional.of(new InferRequestBytes(outline.toString(), ByteBufUtil.hexDump(written)));
        } finally {
            written.release();
        }
    }

    private static boolean stricter(byte[] message) {
        try {
            ProtobufReader.check(Unpooled.wrappedBuffer(message), WireLimits.DEFAULT, null);
            return false;
        } catch (OipException e) {
            return Arrays.stream(STRICTER).anyMatch(e.message()::contains);
        }
    }

    /** The message as encoded by protobuf-java, without unknown fields. */
    private static byte[] canonical(byte[] message) throws InvalidProtocolBufferException {
        return DiscardUnknownFieldsParser.wrap(ModelInferRequest.parser())
                .parseFrom(message)
                .toByteArray();
    }

    private ModelInferRequest request() {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder()
                .setModelName(random.nextBoolean() ? "m" : "\u00e9t\u00e9")
                .setModelVersion(random.nextBoolean() ? "" : "3")
                .setId(random.nextBoolean() ? "" : "id");
        for (int i = random.nextInt(3); i > 0; i--) {
            request.putParameters("p" + random.nextInt(3), parameter());
        }
        boolean raw = random.nextBoolean();
        for (int i = random.nextInt(20) == 0 ? 0 : 1 + random.nextInt(2); i > 0; i--) {
            int elements = random.nextInt(4);
            ModelInferRequest.InferInputTensor.Builder input = request.addInputsBuilder()
                    .setName("x" + i)
                    .setDatatype("INT32")
                    .addShape(elements);
            if (random.nextBoolean()) {
                input.addShape(1).putParameters("t", parameter());
            }
            int given = random.nextInt(20) == 0 ? elements + 1 : elements;
            if (raw) {
                request.addRawInputContents(ByteString.copyFrom(new byte[4 * given]));
            } else {
                InferTensorContents.Builder contents = input.getContentsBuilder();
                for (int element = 0; element < given; element++) {
                    contents.addIntContents(random.nextInt());
                }
            }
        }
        if (random.nextBoolean()) {
            request.addOutputsBuilder().setName("y").putParameters("classification", parameter());
        }
        return request.build();
    }

    private InferParameter parameter() {
        InferParameter.Builder parameter = InferParameter.newBuilder();
        return switch (random.nextInt(30)) {
            case 0 -> parameter.build();
            case 1, 2, 3 -> parameter.setBoolParam(random.nextBoolean()).build();
            case 4, 5, 6 -> parameter.setStringParam("text").build();
            case 7, 8, 9 -> parameter.setDoubleParam(random.nextDouble()).build();
            case 10, 11, 12 -> parameter.setUint64Param(random.nextLong()).build();
            default -> parameter.setInt64Param(random.nextLong()).build();
        };
    }

    /** A random encoding of the message. */
    private ByteString form(MessageOrBuilder message) {
        ByteString form = ByteString.EMPTY;
        for (ByteString field : fields(message)) {
            form = form.concat(field);
        }
        return form;
    }

    /** The fields in random order, except those of the same number, mixed with unknown ones. */
    private List<ByteString> fields(MessageOrBuilder message) {
        List<List<ByteString>> queues = new ArrayList<>();
        message.getAllFields().forEach((field, value) -> queues.add(field(field, value)));
        if (!message.getDescriptorForType().getOptions().getMapEntry()) {
            for (int i = random.nextInt(8); i > 6; i--) {
                queues.add(List.of(hex(UNKNOWN[random.nextInt(UNKNOWN.length)])));
            }
        }
        List<ByteString> fields = new ArrayList<>();
        int[] next = new int[queues.size()];
        for (int left = queues.stream().mapToInt(List::size).sum(); left > 0; left--) {
            int queue;
            do {
                queue = random.nextInt(next.length);
            } while (next[queue] == queues.get(queue).size());
            fields.add(queues.get(queue).get(next[queue]++));
        }
        return fields;
    }

    private List<ByteString> field(FieldDescriptor field, Object value) {
        List<ByteString> pieces = new ArrayList<>();
        if (field.isRepeated() && field.isPackable()) {
            List<?> elements = (List<?>) value;
            for (int from = 0; from < elements.size(); ) {
                int to = from + 1 + random.nextInt(elements.size() - from);
                if (random.nextBoolean()) {
                    ByteString packed = ByteString.EMPTY;
                    for (Object element : elements.subList(from, to)) {
                        packed = packed.concat(varint(((Number) element).longValue(), 10));
                    }
                    pieces.add(bytes(field, packed));
                } else {
                    to = from + 1;
                    pieces.add(single(field, elements.get(from)));
                }
                from = to;
            }
        } else if (field.isRepeated()) {
            ((List<?>) value).forEach(element -> pieces.add(single(field, element)));
        } else if (value instanceof MessageOrBuilder message && random.nextBoolean()) {
            List<ByteString> fields = fields(message);
            int cut = random.nextInt(fields.size() + 1);
            pieces.add(bytes(field, ByteString.copyFrom(fields.subList(0, cut))));
            pieces.add(bytes(field, ByteString.copyFrom(fields.subList(cut, fields.size()))));
        } else {
            pieces.add(single(field, value));
        }
        return pieces;
    }

    private ByteString single(FieldDescriptor field, Object value) {
        return switch (value) {
            case MessageOrBuilder message -> bytes(field, form(message));
            case String text -> bytes(field, ByteString.copyFromUtf8(text));
            case ByteString raw -> bytes(field, raw);
            case Boolean bool -> tag(field, 0).concat(varint(bool ? 1 : 0, 10));
            case Double number ->
                tag(field, 1)
                        .concat(ByteString.copyFrom(ByteBuffer.allocate(8)
                                .order(ByteOrder.LITTLE_ENDIAN)
                                .putDouble(number)
                                .flip()));
            case Number number -> tag(field, 0).concat(varint(number.longValue(), 10));
            default -> throw new IllegalArgumentException(field + " has " + value);
        };
    }

    private ByteString bytes(FieldDescriptor field, ByteString value) {
        return tag(field, 2).concat(varint(value.size(), 5)).concat(value);
    }

    private ByteString tag(FieldDescriptor field, int wireType) {
        return varint((long) field.getNumber() << 3 | wireType, 5);
    }

    /** Occasionally longer than necessary, but at most {@code max} bytes. */
    private ByteString varint(long value, int max) {
        ByteString.Output out = ByteString.newOutput();
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            out.write((int) (rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        int longer = random.nextInt(30) == 0 ? random.nextInt(max - out.size()) : 0;
        out.write((int) rest | (longer > 0 ? 0x80 : 0));
        for (; longer > 0; longer--) {
            out.write(longer > 1 ? 0x80 : 0);
        }
        return out.toByteString();
    }

    private static ByteString hex(String text) {
        return ByteString.copyFrom(HexFormat.of().parseHex(text));
    }

    /** The message with a few bytes changed, removed or inserted. */
    private byte[] broken(byte[] message) {
        byte[] bytes = message;
        for (int i = 1 + random.nextInt(2); i > 0 && bytes.length > 1; i--) {
            int at = random.nextInt(bytes.length - 1);
            int more = random.nextInt(3) - 1;
            byte[] next = Arrays.copyOf(bytes, bytes.length + more);
            System.arraycopy(bytes, at + 1, next, at + 1 + more, bytes.length - at - 1);
            next[at] = (byte) random.nextInt(random.nextBoolean() ? 256 : 64);
            bytes = next;
        }
        return bytes;
    }
}

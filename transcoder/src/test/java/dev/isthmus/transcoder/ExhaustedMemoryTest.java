package dev.isthmus.transcoder;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufSplice;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestSplice;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Whatever allocation fails: what was taken is released, and so is what was written. */
class ExhaustedMemoryTest {
    private static final ModelRef MODEL = new ModelRef("m", "1");
    private static final Map<String, Parameter> PARAMETERS = Map.of(
            "text", new Parameter.Text("v".repeat(300)),
            "flag", new Parameter.Bool(true),
            "number", new Parameter.Int64(7));

    private final FailingAllocator allocator = new FailingAllocator();
    private final List<ByteBuf> taken = new ArrayList<>();

    /** Repeats this until nothing fails. */
    private void eachFails(Function<ByteBufAllocator, ByteBuf> conversion) {
        eachReleased(memory -> conversion.apply(memory)::release);
    }

    /** @param conversion returns what releases its result */
    private void eachReleased(Function<ByteBufAllocator, Runnable> conversion) {
        boolean failed = true;
        int failures = 0;
        for (; failed; failures++) {
            taken.clear();
            allocator.failAfter(failures);
            try {
                conversion.apply(allocator).run();
                failed = allocator.failed();
            } catch (OutOfMemoryError expected) {
                assertThat(allocator.failed()).isTrue();
            }
            assertThat(allocator.held()).as("after allocation %s", failures).isZero();
            assertThat(taken).allSatisfy(each -> assertThat(each.refCnt()).isZero());
        }
        assertThat(failures).isGreaterThan(1);
    }

    private ByteBuf bytes(int size) {
        ByteBuf bytes = Unpooled.buffer(size).writeZero(size);
        taken.add(bytes);
        return bytes;
    }

    private ByteBuf bytes(byte[] content) {
        return bytes(0).writeBytes(content);
    }

    private List<Tensor> tensors() {
        ByteBuf text = bytes(0).writeIntLE(2).writeBytes(new byte[] {'a', 'b'});
        return List.of(
                new Tensor("small", DataType.FP32, Shape.of(2, 3), PARAMETERS, bytes(24)),
                new Tensor("large", DataType.INT8, Shape.of(4000), Map.of(), bytes(4000)),
                new Tensor("text", DataType.BYTES, Shape.of(1), Map.of(), text),
                new Tensor("last", DataType.INT64, Shape.of(1), Map.of(), bytes(8)));
    }

    private InferRequest request() {
        return new InferRequest(MODEL, "id", PARAMETERS, tensors(), List.of(new RequestedOutput("y", PARAMETERS)));
    }

    private InferResponse response() {
        return new InferResponse(MODEL, "id", PARAMETERS, tensors());
    }

    @Test
    void protobufRequest() {
        eachFails(memory -> ProtobufWriter.request(memory, request(), Dialect.GENERIC));
    }

    @Test
    void protobufResponse() {
        eachFails(memory -> ProtobufWriter.response(memory, response(), false));
        eachFails(memory -> ProtobufWriter.response(memory, response(), true));
    }

    @Test
    void restRequest() {
        for (boolean binary : List.of(true, false)) {
            ServerFeatures peer = new ServerFeatures(Wire.REST, Dialect.GENERIC, binary, false);
            eachFails(memory ->
                    RestWriter.request(memory, request(), peer, Set.of("small")).content());
        }
    }

    @Test
    void restResponse() {
        for (OutputForms forms : List.of(OutputForms.JSON, OutputForms.BINARY)) {
            eachFails(memory -> RestWriter.response(memory, response(), forms).content());
        }
    }

    @Test
    void editedMessages() {
        for (int size : List.of(20, 4000)) {
            byte[] message = message(size);
            eachFails(memory -> ProtobufSplice.id(memory, bytes(message), "other"));
            eachFails(memory -> ProtobufSplice.last(memory, bytes(message)));
            eachFails(memory -> ProtobufSplice.response(memory, bytes(message), new ModelRef("o", "2")));
            byte[] json = ("{\"model_name\":\"m\",\"text\":\"" + "x".repeat(size) + "\"}")
                    .getBytes(StandardCharsets.US_ASCII);
            eachFails(memory -> RestSplice.modelName(memory, new RestBody(bytes(json), RestBody.ALL_JSON), "other")
                    .content());
        }
    }

    private static byte[] message(int size) {
        Tensor output = new Tensor(
                "y",
                DataType.UINT8,
                Shape.of(size),
                Map.of(),
                Unpooled.buffer(size).writeZero(size));
        InferResponse response = new InferResponse(MODEL, "", Map.of(), List.of(output));
        return content(ProtobufWriter.response(ByteBufAllocator.DEFAULT, response, false));
    }

    /** @param message taken */
    private static byte[] content(ByteBuf message) {
        try {
            return ByteBufUtil.getBytes(message);
        } finally {
            message.release();
        }
    }

    @Test
    void typedContents() {
        byte[] message = content(ProtobufWriter.response(ByteBufAllocator.DEFAULT, response(), true));
        eachReleased(memory -> {
            ByteBuf received = memory.buffer(message.length).writeBytes(message);
            taken.add(received);
            InferResponse read = ProtobufReader.response(received, WireLimits.DEFAULT, Map.of());
            return read::release;
        });
    }

    @Test
    void checkedRequest() {
        byte[] typed = content(ProtobufWriter.response(ByteBufAllocator.DEFAULT, response(), true));
        Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
        ServerFeatures peer = new ServerFeatures(Wire.PROTOBUF, Dialect.MLSERVER, false, false);
        eachReleased(memory -> {
            ByteBuf received = memory.buffer(typed.length).writeBytes(typed);
            taken.add(received);
            return transcoder.request(memory, new InferMessage.ProtobufMessage(received), peer)::release;
        });
    }

    @Test
    void streamedMessages() {
        eachFails(memory -> StreamEnvelope.wrap(memory, bytes(20)));
        eachFails(memory -> StreamEnvelope.error(memory, "m".repeat(300), "id"));
    }

    @Test
    void messageInParts() {
        String json = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[40000],"
                + "\"parameters\":{\"binary_data_size\":40000}}]}";
        ServerFeatures peer = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
        eachReleased(memory -> {
            RestRequestReader reader = new RestRequestReader(memory, MODEL, json.length(), false, WireLimits.DEFAULT);
            ByteBuf body = bytes(0).writeBytes(json.getBytes(StandardCharsets.US_ASCII));
            RestParts parts = null;
            try {
                reader.feed(body);
                InferRequest head =
                        requireNonNull(reader.head(json.length() + 40_000)).request();
                parts = new Transcoder(WireLimits.DEFAULT).parts(memory, head, reader, peer);
                reader.feed(body.clear().writeZero(20_000));
                reader.feed(body.setIndex(1, 300));
                parts.take().release();
            } finally {
                reader.release();
                body.release();
                if (parts != null) {
                    parts.release();
                }
            }
            return () -> {};
        });
    }

    /** Parts that are small and keep much memory from being released. */
    private Stream<ByteBuf> smallParts() {
        return IntStream.range(0, 600).mapToObj(i -> {
            ByteBuf part = bytes(20_000);
            return part.setIndex(part.capacity() - 1 - i % 300, part.capacity());
        });
    }

    @Test
    void smallPartsOfABody() {
        eachFails(memory -> {
            BufferCollector body = new BufferCollector(memory, 4);
            try {
                smallParts().forEach(body::add);
                assertThat(body.bytes()).isEqualTo(2 * 300 * 301 / 2);
                return body.take();
            } finally {
                body.release();
            }
        });
    }

    @Test
    void smallPartsJoined() {
        eachFails(memory -> smallParts()
                .reduce((whole, part) -> SmallParts.join(memory, whole, part))
                .orElseThrow());
    }
}

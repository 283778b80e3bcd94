package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.Wires.Encoded;
import dev.isthmus.transcoder.message.WireLimits;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Fuzzes each reader: it either accepts the bytes or throws an {@link OipException} with the right code, and leaks no
 * buffer; the result is the same for any chunks, and nothing is accepted that Jackson or protobuf-java rejects. A
 * normal test run uses the inputs in the resources; {@code transcoder/fuzz} searches for more.
 */
class CodecFuzzTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    private static final int NAME_BYTES = WireLimits.DEFAULT.nameBytes();

    /** Names that a REST message must not use, or that are not preserved. */
    private static final Set<String> RESERVED =
            Set.of("binary_data", "binary_data_size", "binary_data_output", "shared_memory_region", "content_type");

    /** An input: two bytes for the length of the JSON, two for the sizes of the body's chunks, then the body. */
    private record Input(Encoded body, int first, int second) {
        private static final int CONTROL = 4;

        static Optional<Input> of(byte[] bytes) {
            if (bytes.length < CONTROL) {
                return Optional.empty();
            }
            int jsonLength = (bytes[0] & 0xff) | (bytes[1] & 0xff) << 8;
            byte[] body = Arrays.copyOfRange(bytes, CONTROL, bytes.length);
            return Optional.of(new Input(
                    new Encoded(body, jsonLength == 0xffff ? Wires.ALL_JSON : jsonLength),
                    bytes[2] & 0xff,
                    bytes[3] & 0xff));
        }

        /** The sizes of the chunks; 0 for all that is left. */
        IntSupplier pieces() {
            boolean[] even = {false};
            return () -> {
                even[0] = !even[0];
                int size = even[0] ? first : second;
                return size == 0 ? Integer.MAX_VALUE : size;
            };
        }
    }

    /** The message that a reader reads; empty if it rejects the input. */
    private static Optional<Message> read(byte[] bytes, boolean request, Function<Input, Message> reader, Wires wires) {
        Optional<Message> read = Input.of(bytes).flatMap(input -> {
            try {
                return Optional.of(reader.apply(input));
            } catch (OipException e) {
                assertThat(e.code()).isEqualTo(request ? ErrorCode.INVALID_ARGUMENT : ErrorCode.BAD_UPSTREAM_ANSWER);
                assertThat(e.message()).isNotEmpty();
                return Optional.empty();
            }
        });
        assertThat(wires.held()).as("bytes held").isZero();
        return read;
    }

    private static Optional<Message> readRest(byte[] bytes, boolean request, Wires wires) {
        Optional<Message> whole = read(bytes, request, i -> wires.readRest(request, MODEL, i.body()), wires);
        Optional<Message> read = read(bytes, request, i -> wires.readRest(request, MODEL, i.body(), i.pieces()), wires);
        assertThat(read).as("read in pieces, against in one").isEqualTo(whole);
        read.ifPresent(message -> Input.of(bytes).map(Input::body).ifPresent(ReferenceParsers::json));
        return read;
    }

    private static Optional<Message> readProtobuf(byte[] bytes, boolean request, Wires wires) {
        Optional<Message> whole = read(bytes, request, i -> wires.readProtobuf(request, i.body()), wires);
        Optional<Message> read = read(bytes, request, i -> wires.readProtobuf(request, i.body(), i.pieces()), wires);
        assertThat(read).as("read in pieces, against in one").isEqualTo(whole);
        read.ifPresent(message -> Input.of(bytes).ifPresent(input -> ReferenceParsers.protobuf(input.body(), message)));
        return read;
    }

    @FuzzTest(maxDuration = "10s")
    void restRequest(byte[] bytes) {
        readRest(bytes, true, new Wires(false));
    }

    @FuzzTest(maxDuration = "10s")
    void restResponse(byte[] bytes) {
        readRest(bytes, false, new Wires(false));
    }

    @FuzzTest(maxDuration = "10s")
    void protobufRequest(byte[] bytes) {
        readProtobuf(bytes, true, new Wires(false));
    }

    @FuzzTest(maxDuration = "10s")
    void protobufResponse(byte[] bytes) {
        readProtobuf(bytes, false, new Wires(false));
    }

    /** A message that is accepted, written and read again is the same. The first byte selects the reader. */
    @FuzzTest(maxDuration = "10s")
    void roundTrip(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        Wires wires = new Wires(false);
        boolean request = (bytes[0] & 1) == 0;
        boolean rest = (bytes[0] & 2) == 0;
        byte[] input = Arrays.copyOfRange(bytes, 1, bytes.length);
        (rest ? readRest(input, request, wires) : readProtobuf(input, request, wires))
                .ifPresent(message -> comesBack(message, wires));
    }

    private static void comesBack(Message message, Wires wires) {
        boolean request = message.request();
        if (namesFit(message)) {
            assertThat(wires.readProtobuf(request, wires.protobuf(message))).isEqualTo(inProtobuf(message));
        }
        if (restHas(message)) {
            List<Message.Value> tensors =
                    message.tensors().stream().map(Message.Value::inJson).toList();
            Message json = new Message(
                    request, message.model(), message.id(), message.parameters(), tensors, message.outputs());
            Set<String> names =
                    message.tensors().stream().map(Message.Value::name).collect(Collectors.toSet());
            if (!message.fitsJson()) {
                assertThatThrownBy(() -> wires.restRequest(message, false)).hasMessageContaining("not UTF-8");
                assertThat(wires.readRest(true, message.model(), wires.restRequest(message, true)))
                        .isEqualTo(message);
                return;
            }
            Encoded text = request ? wires.restRequest(message, false) : wires.restResponse(message, Set.of());
            Encoded binary = request ? wires.restRequest(message, true) : wires.restResponse(message, names);
            assertThat(wires.readRest(request, message.model(), text)).isEqualTo(json);
            assertThat(wires.readRest(request, message.model(), binary)).isEqualTo(message);
        }
        assertThat(wires.held()).as("bytes held").isZero();
    }

    /** The message in protobuf: without JSON parameters, which REST responses may have. */
    private static Message inProtobuf(Message message) {
        List<Message.Value> tensors = message.tensors().stream()
                .map(tensor -> new Message.Value(
                        tensor.name(), tensor.type(), tensor.shape(), inProtobuf(tensor.parameters()), tensor.raw()))
                .toList();
        return new Message(
                message.request(),
                message.model(),
                message.id(),
                inProtobuf(message.parameters()),
                tensors,
                message.outputs());
    }

    private static List<Map.Entry<String, Parameter>> inProtobuf(List<Map.Entry<String, Parameter>> parameters) {
        return parameters.stream()
                .filter(parameter -> !(parameter.getValue() instanceof Parameter.Json))
                .toList();
    }

    private static boolean namesFit(Message message) {
        return message.tensors().stream().allMatch(tensor -> fits(tensor.name()));
    }

    private static boolean fits(String name) {
        return name.getBytes(StandardCharsets.UTF_8).length <= NAME_BYTES;
    }

    /** Whether REST can represent the message: protobuf allows names and parameters that JSON does not. */
    private static boolean restHas(Message message) {
        Stream<Map.Entry<String, Parameter>> parameters = Stream.concat(
                message.parameters().stream(),
                Stream.concat(
                        message.tensors().stream().flatMap(tensor -> tensor.parameters().stream()),
                        message.outputs().stream().flatMap(output -> output.parameters().stream())));
        return !(message.request() && message.tensors().isEmpty())
                && message.tensors().stream().noneMatch(tensor -> tensor.name().isEmpty())
                && message.outputs().stream().noneMatch(output -> output.name().isEmpty())
                && parameters.allMatch(CodecFuzzTest::restHas);
    }

    private static boolean restHas(Map.Entry<String, Parameter> parameter) {
        String name = parameter.getKey();
        return fits(name)
                && !name.startsWith("triton_")
                && !RESERVED.contains(name)
                && switch (parameter.getValue()) {
                    case Parameter.Float64 number -> Double.isFinite(number.value());
                    case Parameter.Uint64 number -> number.value() < 0;
                    case Parameter.Bool bool -> true;
                    case Parameter.Int64 number -> true;
                    case Parameter.Text text -> true;
                    case Parameter.Json json -> true;
                };
    }
}

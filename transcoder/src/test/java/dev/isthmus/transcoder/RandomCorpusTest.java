package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.transcoder.Wires.Encoded;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * 100,000 random messages survive a round trip over every wire, bit for bit. A failure names the seed; {@code
 * -Disthmus.corpus.seed=N} repeats it.
 */
class RandomCorpusTest {
    private static final int MESSAGES = 100_000;
    private static final int MAX_TENSOR_RANKS = 6;
    private static final long SEED = Long.getLong("isthmus.corpus.seed", 20_260_101L);

    private final Set<String> seen = ConcurrentHashMap.newKeySet();

    @Test
    void messages_onEveryWire_comeBackTheSame() {
        IntStream.range(0, MESSAGES).parallel().forEach(this::check);
        assertThat(seen)
                .as("kinds of tensor and of parameter in the corpus")
                .hasSize(DataType.values().length * MAX_TENSOR_RANKS + 5);
    }

    private void check(int index) {
        SplittableRandom random = new SplittableRandom(SEED * 1_000_003 + index);
        Message message = new RandomMessages(random).next();
        try {
            new RoundTrips(message, random).check();
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("message " + index + " of -Disthmus.corpus.seed=" + SEED + ": " + message, e);
        }
        message.tensors()
                .forEach(t -> seen.add(t.type() + " of rank " + t.shape().rank()));
        message.parameters().forEach(p -> seen.add(p.getValue().getClass().getSimpleName()));
    }

    /** The round trips of one message. */
    private record RoundTrips(Message message, SplittableRandom random, Wires wires) {

        RoundTrips(Message message, SplittableRandom random) {
            this(message, random, new Wires(random.nextInt(16) == 0));
        }

        void check() {
            IntSupplier pieces = pieces();
            boolean request = message.request();
            boolean text = message.fitsJson();
            Message json = text ? inJson(Set.of()) : message;

            same("protobuf", message, wires.readProtobuf(request, wires.protobuf(message)));
            same("protobuf in pieces", message, wires.readProtobuf(request, wires.protobuf(message), pieces));

            if (text) {
                Encoded body = rest(message, Set.of());
                same("JSON", json, wires.readRest(request, message.model(), body));
                same("JSON in pieces", json, wires.readRest(request, message.model(), body, pieces));
            } else {
                assertThatThrownBy(() -> rest(message, Set.of())).hasMessageContaining("not UTF-8");
            }

            Set<String> apart = request || random.nextBoolean() ? names() : someNames();
            Message mixed = inJson(apart);
            Encoded binary = rest(message, apart);
            same("binary", mixed, wires.readRest(request, message.model(), binary));
            same("binary in pieces", mixed, wires.readRest(request, message.model(), binary, pieces));

            across(json);
            assertThat(wires.held()).as("bytes held").isZero();
        }

        /** From REST to protobuf and back, in both of REST's forms. */
        private void across(Message json) {
            boolean request = message.request();
            Message there = wires.readProtobuf(request, wires.protobuf(json));
            same("JSON to protobuf", json, there);
            if (message.fitsJson()) {
                same("protobuf to JSON", json, wires.readRest(request, json.model(), rest(there, Set.of())));
            }
            same("protobuf to binary", json, wires.readRest(request, json.model(), rest(there, names())));
        }

        private Encoded rest(Message from, Set<String> apart) {
            return from.request() ? wires.restRequest(from, !apart.isEmpty()) : wires.restResponse(from, apart);
        }

        /** The message after a round trip through REST with these tensors as binary data. */
        private Message inJson(Set<String> apart) {
            List<Message.Value> tensors = message.tensors().stream()
                    .map(value -> apart.contains(value.name()) ? value : value.inJson())
                    .toList();
            return new Message(
                    message.request(), message.model(), message.id(), message.parameters(), tensors, message.outputs());
        }

        private Set<String> names() {
            return message.tensors().stream().map(Message.Value::name).collect(Collectors.toSet());
        }

        private Set<String> someNames() {
            Set<String> some = new HashSet<>(names());
            some.removeIf(name -> random.nextBoolean());
            return some;
        }

        /** The sizes of chunks: small or large, some empty. */
        private IntSupplier pieces() {
            int bound = 1 << random.nextInt(1, 10);
            return () -> random.nextInt(bound);
        }

        private static void same(String way, Message expected, Message got) {
            if (!expected.equals(got)) {
                assertThat(got).as(way).isEqualTo(expected);
            }
        }
    }
}

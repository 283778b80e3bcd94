package dev.isthmus.gateway.ingress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class BodyReadBufferTest {
    static final List<ByteBufAllocator> ALLOCATORS = List.of(ByteBufAllocator.DEFAULT, PooledByteBufAllocator.DEFAULT);

    private static final String HEAD = "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\n";
    private static final String BINARY = HEAD + "Inference-Header-Content-Length: 2\r\n";

    private static String body(int length, int seed) {
        return new Random(seed)
                .ints(length, 0, 256)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private static String binary(String body) {
        return BINARY + "Content-Length: " + body.length() + "\r\n\r\n" + body;
    }

    private static String json(String body) {
        return HEAD + "Content-Length: " + body.length() + "\r\n\r\n" + body;
    }

    private static byte[] bytes(String... requests) {
        return String.join("", requests).getBytes(ISO_8859_1);
    }

    /** The bodies of the responses. */
    private static List<String> bodies(SplitConnection connection) {
        String all = new String(connection.sent(), ISO_8859_1);
        List<String> bodies = new java.util.ArrayList<>();
        for (int at = 0; at < all.length(); ) {
            int begin = all.indexOf("\r\n\r\n", at) + 4;
            String head = all.substring(at, begin).toLowerCase(java.util.Locale.ROOT);
            int length = 0;
            int field = head.indexOf("content-length: ");
            if (field >= 0) {
                field += "content-length: ".length();
                length = Integer.parseInt(head.substring(field, head.indexOf('\r', field)));
            }
            bodies.add(all.substring(begin, begin + length));
            at = begin + length;
        }
        return bodies;
    }

    /** Pipelined requests of all kinds, and their bodies. */
    private record Conversation(String text, List<String> bodies) {
        byte[] bytes() {
            return text.getBytes(ISO_8859_1);
        }

        static Conversation mixed() {
            String large = body(150, 1);
            String same = body(150, 2);
            String larger = body(300, 3);
            String chunks = HEAD + "Inference-Header-Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + "14\r\n"
                    + body(20, 4) + "\r\n3\r\nabc\r\n0\r\n\r\n";
            String small = body(7, 5);
            String text = body(100, 6);
            return new Conversation(
                    String.join(
                            "",
                            binary(large),
                            binary(same),
                            binary(larger),
                            chunks,
                            binary(small),
                            json(text),
                            binary("")),
                    List.of(large, same, larger, body(20, 4) + "abc", small, text, ""));
        }
    }

    @ParameterizedTest
    @FieldSource("ALLOCATORS")
    void bodies_inAnyTwoArrivals_areWhatWasSent(ByteBufAllocator allocator) {
        Conversation said = Conversation.mixed();
        int length = said.bytes().length;
        int step = allocator == ByteBufAllocator.DEFAULT ? 1 : 5;
        for (int split = 1; split < length; split += step) {
            try (SplitConnection connection = new SplitConnection(allocator, 1 << 20, false)) {
                connection.receive(said.bytes(), split, said.bytes().length);
                assertThat(bodies(connection)).as("split at %d", split).isEqualTo(said.bodies());
                assertThat(connection.ahead.reserved()).isZero();
            }
        }
    }

    @ParameterizedTest
    @FieldSource("ALLOCATORS")
    void bodies_inEqualArrivals_areWhatWasSent(ByteBufAllocator allocator) {
        Conversation said = Conversation.mixed();
        for (int size = 1; size < 200; size += 1 + size / 16) {
            try (SplitConnection connection = new SplitConnection(allocator, 1 << 20, false)) {
                connection.receive(said.bytes(), size);
                assertThat(bodies(connection)).as("arrivals of %d", size).isEqualTo(said.bodies());
                assertThat(connection.ahead.reserved()).isZero();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 20, 30_000, 400, 0})
    void bodies_inRandomArrivals_areWhatWasSent(long mostAhead) {
        Conversation said = Conversation.mixed();
        Random random = new Random(mostAhead);
        for (int i = 0; i < 80; i++) {
            int[] arrivals = random.ints(60, 1, 1 << (1 + i % 9)).toArray();
            try (SplitConnection connection = new SplitConnection(ByteBufAllocator.DEFAULT, mostAhead, false)) {
                connection.receive(said.bytes(), arrivals).receive(said.bytes(), arrivals);
                assertThat(bodies(connection))
                        .containsExactlyElementsOf(java.util.stream.Stream.of(said.bodies(), said.bodies())
                                .flatMap(List::stream)
                                .toList());
                assertThat(connection.ahead.reserved()).isZero();
            }
        }
    }

    /**
     * Its size is not known to the connection yet, and the bytes read with its head are copied in front of the rest.
     */
    @Test
    void firstBody_withinWhatIsUnproven_isOnePiece() {
        String request = binary(body(60, 1));
        int head = request.length() - 60;
        for (int split = 1; split <= head + SplitConnection.SIZES.maxCopied(); split++) {
            try (SplitConnection connection = new SplitConnection()) {
                connection.receive(bytes(request), split, 9);
                assertThat(bodies(connection)).containsExactly(body(60, 1));
                assertThat(connection.whole).as("split at %d", split).containsExactly(true);
            }
        }
    }

    @Test
    void firstBody_beyondWhatIsUnproven_comesInFewPieces() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(binary(body(250, 1))), 1);
            assertThat(bodies(connection)).containsExactly(body(250, 1));
        }
    }

    @Test
    void nextBody_isOnePieceWhateverTheArrivals() {
        String request = binary(body(250, 1));
        for (int split = 1; split < request.length(); split++) {
            try (SplitConnection connection = new SplitConnection()) {
                connection.receive(bytes(request), 1000);
                connection.receive(bytes(request), split, 1000);
                connection.receive(bytes(request), split, 7);
                assertThat(bodies(connection)).hasSize(3).containsOnly(body(250, 1));
                assertThat(connection.whole.subList(1, 3))
                        .as("split at %d", split)
                        .containsOnly(true);
            }
        }
    }

    @Test
    void nextBody_larger_isOnePieceWhereItsHeadComesFirst() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(binary(body(40, 1))), 1000);
            String larger = binary(body(64, 2));
            connection.receive(bytes(larger), larger.length() - 64, 10);
            assertThat(bodies(connection)).containsExactly(body(40, 1), body(64, 2));
            assertThat(connection.whole.get(1)).isTrue();
        }
    }

    /** Bytes that arrive while a response is pending have been read already, and stay buffered. */
    @Test
    void bodies_behindOneWithoutAResponseYet_areWhatWasSent() {
        Conversation said = Conversation.mixed();
        for (int split = 1; split < said.bytes().length; split += 5) {
            try (SplitConnection connection = new SplitConnection(ByteBufAllocator.DEFAULT, 1 << 20, true)) {
                connection.receive(said.bytes(), split, 1000).respond();
                assertThat(bodies(connection)).as("split at %d", split).isEqualTo(said.bodies());
                assertThat(connection.ahead.reserved()).isZero();
            }
        }
    }

    @Test
    void announcedBody_ofWhichNothingComes_takesNoMemory() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(BINARY + "Content-Length: 90000\r\n\r\n"), 1000);
            assertThat(connection.ahead.reserved()).isZero();
        }
    }

    @Test
    void announcedBody_ofWhichLittleComes_takesLittleMemory() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(BINARY + "Content-Length: 90000\r\n\r\nx"), 1000);
            assertThat(connection.ahead.reserved()).isLessThan(SplitConnection.SIZES.maxInitial());
            connection.receive(bytes(body(1000, 1)), 10);
            assertThat(connection.ahead.reserved()).isLessThanOrEqualTo(SplitConnection.SIZES.max());
        }
    }

    @Test
    void bodyThatNeedNotBeOnePiece_takesNoMemoryAhead() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.inOnePiece = false;
            String request = binary(body(300, 1));
            for (int i = 0; i < 2; i++) {
                connection.receive(bytes(request.substring(0, request.length() - 1)), 50);
                assertThat(connection.ahead.reserved()).isZero();
                connection.receive(bytes(request.substring(request.length() - 1)), 1);
            }
            assertThat(bodies(connection)).hasSize(2).containsOnly(body(300, 1));
        }
    }

    @Test
    void bodyThatNeedNotBeOnePieceAnyMore_givesItsMemoryBack() {
        String request = binary(body(300, 1));
        int head = request.length() - 300;
        for (int split = 1; split < 299; split++) {
            try (SplitConnection connection = new SplitConnection()) {
                connection.receive(bytes(request.substring(0, head + split)), head, 20);
                connection.inOnePiece = false;
                connection.receive(bytes(request.substring(head + split, head + split + 1)), 1);
                assertThat(connection.ahead.reserved()).isZero();
                connection.receive(bytes(request.substring(head + split + 1)), 7);
                assertThat(bodies(connection)).as("split at %d", split).containsExactly(body(300, 1));
            }
        }
    }

    @Test
    void bodyThatIsNotTaken_stopsReadingUntilItIs() {
        try (SplitConnection connection = new SplitConnection()) {
            String request = json(body(300, 1));
            connection.writable = false;
            connection.receive(bytes(request.substring(0, 100)), 100);
            assertThat(connection.reading()).isFalse();
            connection.readMore();
            assertThat(connection.reading()).isTrue();
            connection.receive(bytes(request.substring(100)), 1000);
            assertThat(bodies(connection)).containsExactly(body(300, 1));
        }
    }

    @Test
    void bodyThatIsNotTaken_butComplete_getsAResponse() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.writable = false;
            connection.receive(bytes(json(body(300, 1))), 1000);
            assertThat(bodies(connection)).containsExactly(body(300, 1));
            assertThat(connection.reading()).isTrue();
        }
    }

    @Test
    void requestBehindABody_thatWasRefusedBeforeItWasTaken_isServed() {
        try (SplitConnection connection = new SplitConnection()) {
            String request = json(body(300, 1));
            connection.writable = false;
            connection.receive(bytes(request.substring(0, 100)), 100);
            connection.refuse(OipException.invalid("no"));
            assertThat(connection.reading()).isTrue();
            connection.receive(bytes(request.substring(100), json("abc")), 1000);
            assertThat(bodies(connection)).containsExactly("{\"error\":\"no\"}", "abc");
        }
    }

    @Test
    void smallBody_takesNoMemoryAhead() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(binary("abc").substring(0, 90)), 1000);
            assertThat(connection.ahead.reserved()).isZero();
        }
    }

    /** A body that is decoded while it arrives need not be contiguous. */
    @ParameterizedTest
    @ValueSource(strings = {"", "Inference-Header-Content-Length: 2\r\nContent-Encoding: gzip\r\n"})
    void bodyThatIsDecodedAsItComes_takesNoMemoryAhead(String fields) {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(HEAD + fields + "Content-Length: 500\r\n\r\n\u001f\u008b\u0008"), 1000);
            assertThat(connection.ahead.reserved()).isZero();
        }
    }

    @Test
    void connection_closedWithinABody_givesItsMemoryBack() {
        byte[] request = bytes(binary(body(250, 1)), binary(body(250, 2)));
        for (int end = 1; end < request.length; end++) {
            SplitConnection connection = new SplitConnection();
            connection.receive(java.util.Arrays.copyOf(request, end), 50);
            connection.close();
            assertThat(connection.ahead.reserved()).as("closed at %d", end).isZero();
        }
    }

    @Test
    void connection_idle_holdsNothing() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(binary(body(250, 1))), 1000);
            connection.receive(bytes(binary(body(250, 1))), 1000);
            assertThat(connection.ahead.reserved()).isZero();
        }
    }

    @Test
    void expectContinue_largeBody_isTaken() {
        try (SplitConnection connection = new SplitConnection()) {
            connection.receive(bytes(BINARY + "Expect: 100-continue\r\nContent-Length: 60\r\n\r\n"), 1000);
            assertThat(new String(connection.sent(), ISO_8859_1)).startsWith("HTTP/1.1 100 ");
            connection.receive(bytes(body(60, 1)), 13);
            assertThat(bodies(connection)).containsExactly(body(60, 1));
            assertThat(connection.whole).containsExactly(true);
        }
    }
}

package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** Generates HTTP/2 streams of REST and gRPC, with frames interleaved, split, padded, omitted and added. */
final class Http2Frames {
    private static final int MOST_BYTES = 3 << 20;

    private final SeededChoices choices;
    private final GrpcMessages messages;
    private final double mistakes;
    private int left = MOST_BYTES;

    Http2Frames(SeededChoices choices) {
        this.choices = choices;
        this.messages = new GrpcMessages(choices);
        this.mistakes = choices.pick(0.0, 0.0, 0.01, 0.05, 0.2);
    }

    /** All bytes of a connection. */
    byte[] sequence() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(wrong() ? choices.spoil(FrameBytes.preface()) : FrameBytes.preface());
        out.writeBytes(settings());
        out.writeBytes(FrameBytes.frame(FrameBytes.SETTINGS, FrameBytes.ACK, 0, new byte[0]));
        if (choices.chance(0.5)) {
            out.writeBytes(FrameBytes.frame(FrameBytes.WINDOW_UPDATE, 0, 0, FrameBytes.number(1 << 20)));
        }
        int streams = choices.chance(0.85) ? choices.between(1, 6) : choices.size(300);
        Deque<Deque<byte[]>> waiting = new ArrayDeque<>();
        for (int i = 0; i < streams && left > 0; i++) {
            waiting.add(stream(1 + 2 * i));
        }
        // Streams begin in the order of their ids, as they must; later frames are interleaved.
        List<Deque<byte[]>> open = new ArrayList<>();
        double begins = choices.pick(0.0, 0.3, 1.0);
        while (!open.isEmpty() || !waiting.isEmpty()) {
            if (!waiting.isEmpty() && (open.isEmpty() || choices.chance(begins))) {
                open.add(waiting.removeFirst());
                out.writeBytes(open.getLast().removeFirst());
                open.removeIf(Deque::isEmpty);
                continue;
            }
            Deque<byte[]> next = choices.pick(open);
            out.writeBytes(next.removeFirst());
            open.removeIf(Deque::isEmpty);
            if (wrong()) {
                out.writeBytes(any(2 * streams + 3));
            }
        }
        if (choices.chance(0.05)) {
            flood(out);
        }
        byte[] bytes = out.toByteArray();
        return choices.chance(0.9) ? bytes : choices.spoil(bytes);
    }

    private boolean wrong() {
        return mistakes > 0 && choices.chance(mistakes);
    }

    /** SETTINGS with random values. */
    byte[] settings() {
        ByteArrayOutputStream payload = new ByteArrayOutputStream();
        int count = choices.chance(0.97) ? choices.below(4) : choices.size(3_000);
        for (int i = 0; i < count; i++) {
            payload.writeBytes(
                    switch (choices.below(wrong() ? 7 : 5)) {
                        case 0 ->
                            FrameBytes.setting(4, choices.pick(0, 1, 10, 65_535, 1 << 20, Integer.MAX_VALUE)); // window
                        case 1 -> FrameBytes.setting(1, choices.pick(0, 1, 4096, 1 << 20)); // table
                        case 2 -> FrameBytes.setting(5, choices.pick(16_384, 16_385, (1 << 24) - 1)); // frame
                        case 3 -> FrameBytes.setting(6, choices.pick(0, 100, 1 << 20)); // list
                        case 4 -> FrameBytes.setting(3, choices.pick(0, 1, 100)); // streams
                        default -> FrameBytes.setting(choices.below(20), (int) choices.number());
                    });
        }
        return FrameBytes.frame(FrameBytes.SETTINGS, 0, 0, payload.toByteArray());
    }

    /** The frames of a request, in order. */
    private Deque<byte[]> stream(int id) {
        Deque<byte[]> frames = new ArrayDeque<>();
        boolean grpc = choices.chance(0.6);
        byte[] body;
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        if (grpc) {
            String method = messages.method();
            head(
                    block,
                    "POST",
                    GrpcMessages.SERVICE + method,
                    "application/grpc" + (choices.chance(0.9) ? "" : choices.pick("+json", "-web", "x")));
            if (choices.chance(0.3)) {
                FrameBytes.field(
                        block, true, "grpc-timeout", choices.pick("1m", "20m", "1S", "0n", "99999999H", "-1S", "9"));
            }
            FrameBytes.field(
                    block, true, "grpc-encoding", choices.pick("gzip", "gzip", "identity", "deflate", "snappy"));
            int count =
                    method.equals("ModelStreamInfer") ? choices.below(6) : choices.chance(0.95) ? 1 : choices.below(4);
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (int i = 0; i < count; i++) {
                all.writeBytes(messages.framed(messages.message(method)));
            }
            body = all.toByteArray();
        } else {
            Http1Requests.Operation operation = Http1Requests.operation(choices);
            head(block, operation.method(), operation.path(), "application/json");
            JsonTexts json = new JsonTexts(choices);
            body = operation.infer() ? json.infer() : operation.hasBody() ? json.any() : new byte[0];
            if (choices.chance(0.3)) {
                long length = choices.chance(0.8) ? body.length : choices.number();
                FrameBytes.field(block, false, "content-length", Long.toString(length));
            }
        }
        left -= body.length;
        oddFields(block);
        heads(frames, id, block.toByteArray(), body.length == 0 && !grpc);
        data(frames, id, body, true);
        if (choices.chance(0.1)) {
            frames.add(FrameBytes.frame(
                    FrameBytes.RST_STREAM, 0, id, FrameBytes.number(choices.chance(0.8) ? 8 : (int) choices.number())));
        }
        return frames;
    }

    private void head(ByteArrayOutputStream block, String method, String path, String type) {
        if (choices.chance(0.05)) {
            FrameBytes.integer(block, 0x20, 5, wrong() ? 1 << 20 : choices.below(4097)); // the table's size
        }
        boolean indexed = choices.chance(0.5);
        FrameBytes.field(block, indexed, ":method", method);
        FrameBytes.field(block, indexed, ":scheme", wrong() ? choices.text(5) : "http");
        if (!wrong()) {
            FrameBytes.field(block, indexed, ":path", path);
        }
        FrameBytes.field(
                block, indexed, wrong() ? choices.pick(":authority", ":method", ":x", "Host") : ":authority", "a");
        FrameBytes.field(block, indexed, "content-type", type);
        FrameBytes.field(block, indexed, "te", "trailers");
    }

    private void oddFields(ByteArrayOutputStream block) {
        if (wrong()) {
            FrameBytes.integer(block, 0x80, 7, choices.size(100)); // may be beyond the table
        }
        if (wrong()) {
            FrameBytes.field(
                    block,
                    true,
                    choices.pick("connection", "te", "x-Y", "transfer-encoding", "", "cookie"),
                    choices.text(20));
        }
        if (choices.chance(0.05)) {
            int count = choices.size(600);
            for (int i = 0; i < count; i++) {
                FrameBytes.field(
                        block, true, choices.pick("x-request-id", "baggage", "x" + i), "v".repeat(choices.size(200)));
            }
            for (int i = 0; i < choices.size(wrong() ? 60_000 : 100); i++) {
                block.write(0x80 | 62); // the newest entry of the dynamic table, repeatedly
            }
        }
        if (wrong()) {
            block.write(0);
            block.write(0x80 | 10); // invalid Huffman code
            block.writeBytes(choices.bytes(10));
            block.write(0);
        }
    }

    private void heads(Deque<byte[]> frames, int id, byte[] block, boolean end) {
        int flags = end ? FrameBytes.END_STREAM : 0;
        byte[] first = block;
        if (choices.chance(0.05)) {
            byte[] with = new byte[5 + block.length];
            System.arraycopy(FrameBytes.number(choices.chance(0.8) ? 0 : id), 0, with, 0, 4);
            System.arraycopy(block, 0, with, 5, block.length);
            first = with;
            flags |= FrameBytes.WITH_PRIORITY;
        }
        if (choices.chance(0.85)) {
            frames.add(FrameBytes.frame(FrameBytes.HEADERS, flags | FrameBytes.END_HEADERS, id, first));
            return;
        }
        // HEADERS and CONTINUATION are one unit, since no frame may come between them.
        int piece = 1 + choices.size(first.length);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int at = 0; at < first.length; at += piece) {
            byte[] part = Arrays.copyOfRange(first, at, Math.min(first.length, at + piece));
            int last = at + piece >= first.length && !wrong() ? FrameBytes.END_HEADERS : 0;
            all.writeBytes(FrameBytes.frame(
                    at == 0 ? FrameBytes.HEADERS : FrameBytes.CONTINUATION, (at == 0 ? flags : 0) | last, id, part));
            if (wrong()) {
                all.writeBytes(FrameBytes.frame(FrameBytes.CONTINUATION, 0, id, new byte[0]));
            }
        }
        frames.add(all.toByteArray());
    }

    private void data(Deque<byte[]> frames, int id, byte[] body, boolean end) {
        int piece = 1 + choices.size(choices.chance(0.2) ? 3 : 16_383);
        if (body.length / piece > 20_000) {
            piece = 1_000;
        }
        for (int at = 0; at < body.length; at += piece) {
            byte[] part = Arrays.copyOfRange(body, at, Math.min(body.length, at + piece));
            boolean last = end && at + piece >= body.length && choices.chance(0.95);
            if (choices.chance(0.03)) {
                int padding = choices.below(200);
                byte[] padded = new byte[1 + part.length + padding];
                padded[0] = (byte) (wrong() ? 255 : padding);
                System.arraycopy(part, 0, padded, 1, part.length);
                frames.add(FrameBytes.frame(
                        FrameBytes.DATA, FrameBytes.PADDED | (last ? FrameBytes.END_STREAM : 0), id, padded));
            } else {
                frames.add(FrameBytes.frame(FrameBytes.DATA, last ? FrameBytes.END_STREAM : 0, id, part));
            }
        }
        if (end && choices.chance(0.05)) {
            ByteArrayOutputStream trailers = new ByteArrayOutputStream();
            FrameBytes.field(trailers, false, wrong() ? ":path" : "x-end", "1");
            heads(frames, id, trailers.toByteArray(), !wrong());
        }
        if (choices.chance(0.05)) {
            frames.add(FrameBytes.frame(
                    FrameBytes.WINDOW_UPDATE,
                    0,
                    id,
                    FrameBytes.number(wrong() ? choices.pick(0, Integer.MAX_VALUE) : 1 << 16)));
        }
    }

    /** The frames of a response: headers, body and trailers, each possibly split, padded or invalid. */
    List<byte[]> answer(int id, byte[] head, byte[] body, byte[] trailers) {
        Deque<byte[]> frames = new ArrayDeque<>();
        heads(frames, id, head, false);
        if (body.length > 0) {
            data(frames, id, body, false);
        }
        if (!wrong()) {
            heads(frames, id, trailers, true);
        }
        if (wrong()) {
            frames.add(any(id + 2));
        }
        return List.copyOf(frames);
    }

    /** A random frame. */
    byte[] any(int streams) {
        int stream = choices.pick(0, 1, 2, choices.below(streams + 1), Integer.MAX_VALUE);
        return switch (choices.below(9)) {
            case 0 ->
                FrameBytes.frame(FrameBytes.PING, choices.below(2), stream % 3, new byte[choices.chance(0.9) ? 8 : 7]);
            case 1 -> FrameBytes.frame(FrameBytes.PRIORITY, 0, stream, choices.bytes(choices.chance(0.9) ? 5 : 4));
            case 2 -> FrameBytes.frame(FrameBytes.WINDOW_UPDATE, 0, stream, FrameBytes.number((int) choices.number()));
            case 3 -> settings();
            case 4 -> FrameBytes.frame(FrameBytes.GOAWAY, 0, 0, choices.bytes(8 + choices.size(64)));
            case 5 -> FrameBytes.frame(FrameBytes.PUSH_PROMISE, 4, stream, choices.bytes(12));
            case 6 ->
                FrameBytes.frame(choices.below(256), choices.below(256), stream, choices.bytes(choices.size(300)));
            case 7 ->
                FrameBytes.frame(
                        choices.below(10),
                        choices.below(256),
                        stream,
                        choices.bytes(choices.size(40)),
                        choices.size(1 << 17));
            default -> FrameBytes.frame(FrameBytes.RST_STREAM, 0, stream, FrameBytes.number(choices.below(16)));
        };
    }

    /** Many copies of one frame. */
    private void flood(ByteArrayOutputStream out) {
        byte[] frame = switch (choices.below(5)) {
            case 0 -> FrameBytes.frame(FrameBytes.PING, 0, 0, new byte[8]);
            case 1 -> FrameBytes.frame(FrameBytes.SETTINGS, 0, 0, new byte[0]);
            case 2 -> FrameBytes.frame(FrameBytes.PRIORITY, 0, 1, new byte[5]);
            case 3 -> FrameBytes.frame(FrameBytes.WINDOW_UPDATE, 0, 0, FrameBytes.number(1));
            default -> FrameBytes.frame(FrameBytes.DATA, 0, 1, new byte[0]);
        };
        int count = choices.size(30_000);
        for (int i = 0; i < count; i++) {
            out.writeBytes(frame);
        }
    }
}

package dev.isthmus.bench.fuzz;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** What clients send over HTTP/2: streams of REST and gRPC, whose frames are mixed, split, padded, left out and added to. */
final class Http2Frames {
    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
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
        out.writeBytes(wrong() ? choices.spoil(PREFACE) : PREFACE);
        out.writeBytes(settings());
        out.writeBytes(Frames.frame(Frames.SETTINGS, Frames.ACK, 0, new byte[0]));
        if (choices.chance(0.5)) {
            out.writeBytes(Frames.frame(Frames.WINDOW_UPDATE, 0, 0, Frames.number(1 << 20)));
        }
        int streams = choices.chance(0.85) ? choices.between(1, 6) : choices.size(300);
        Deque<Deque<byte[]>> waiting = new ArrayDeque<>();
        for (int i = 0; i < streams && left > 0; i++) {
            waiting.add(stream(1 + 2 * i));
        }
        // Streams begin in order, as their ids must; what follows is mixed.
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

    /** SETTINGS with any values. */
    byte[] settings() {
        ByteArrayOutputStream payload = new ByteArrayOutputStream();
        int count = choices.chance(0.97) ? choices.below(4) : choices.size(3_000);
        for (int i = 0; i < count; i++) {
            payload.writeBytes(
                    switch (choices.below(wrong() ? 7 : 5)) {
                        case 0 -> Frames.setting(4, choices.pick(0, 1, 10, 65_535, 1 << 20, Integer.MAX_VALUE)); // window
                        case 1 -> Frames.setting(1, choices.pick(0, 1, 4096, 1 << 20)); // table
                        case 2 -> Frames.setting(5, choices.pick(16_384, 16_385, (1 << 24) - 1)); // frame
                        case 3 -> Frames.setting(6, choices.pick(0, 100, 1 << 20)); // list
                        case 4 -> Frames.setting(3, choices.pick(0, 1, 100)); // streams
                        default -> Frames.setting(choices.below(20), (int) choices.number());
                    });
        }
        return Frames.frame(Frames.SETTINGS, 0, 0, payload.toByteArray());
    }

    /** The frames of a request, in their order. */
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
                Frames.field(block, true, "grpc-timeout", choices.pick("1m", "20m", "1S", "0n", "99999999H", "-1S", "9"));
            }
            Frames.field(block, true, "grpc-encoding", choices.pick("gzip", "gzip", "identity", "deflate", "snappy"));
            int count = method.equals("ModelStreamInfer") ? choices.below(6) : choices.chance(0.95) ? 1 : choices.below(4);
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
                Frames.field(block, false, "content-length", Long.toString(length));
            }
        }
        left -= body.length;
        oddFields(block);
        heads(frames, id, block.toByteArray(), body.length == 0 && !grpc);
        data(frames, id, body, true);
        if (choices.chance(0.1)) {
            frames.add(
                    Frames.frame(Frames.RST_STREAM, 0, id, Frames.number(choices.chance(0.8) ? 8 : (int) choices.number())));
        }
        return frames;
    }

    private void head(ByteArrayOutputStream block, String method, String path, String type) {
        if (choices.chance(0.05)) {
            Frames.integer(block, 0x20, 5, wrong() ? 1 << 20 : choices.below(4097)); // the table's size
        }
        boolean indexed = choices.chance(0.5);
        Frames.field(block, indexed, ":method", method);
        Frames.field(block, indexed, ":scheme", wrong() ? choices.text(5) : "http");
        if (!wrong()) {
            Frames.field(block, indexed, ":path", path);
        }
        Frames.field(block, indexed, wrong() ? choices.pick(":authority", ":method", ":x", "Host") : ":authority", "a");
        Frames.field(block, indexed, "content-type", type);
        Frames.field(block, indexed, "te", "trailers");
    }

    private void oddFields(ByteArrayOutputStream block) {
        if (wrong()) {
            Frames.integer(block, 0x80, 7, choices.size(100)); // what the table may not have
        }
        if (wrong()) {
            Frames.field(
                    block,
                    true,
                    choices.pick("connection", "te", "x-Y", "transfer-encoding", "", "cookie"),
                    choices.text(20));
        }
        if (choices.chance(0.05)) {
            int count = choices.size(600);
            for (int i = 0; i < count; i++) {
                Frames.field(block, true, choices.pick("x-request-id", "baggage", "x" + i), "v".repeat(choices.size(200)));
            }
            for (int i = 0; i < choices.size(wrong() ? 60_000 : 100); i++) {
                block.write(0x80 | 62); // the newest of the table, again and again
            }
        }
        if (wrong()) {
            block.write(0);
            block.write(0x80 | 10); // Huffman, of bytes that are none
            block.writeBytes(choices.bytes(10));
            block.write(0);
        }
    }

    private void heads(Deque<byte[]> frames, int id, byte[] block, boolean end) {
        int flags = end ? Frames.END_STREAM : 0;
        byte[] first = block;
        if (choices.chance(0.05)) {
            byte[] with = new byte[5 + block.length];
            System.arraycopy(Frames.number(choices.chance(0.8) ? 0 : id), 0, with, 0, 4);
            System.arraycopy(block, 0, with, 5, block.length);
            first = with;
            flags |= Frames.WITH_PRIORITY;
        }
        if (choices.chance(0.85)) {
            frames.add(Frames.frame(Frames.HEADERS, flags | Frames.END_HEADERS, id, first));
            return;
        }
        // One piece after the other, with nothing between: they are one frame for the mixing.
        int piece = 1 + choices.size(first.length);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int at = 0; at < first.length; at += piece) {
            byte[] part = Arrays.copyOfRange(first, at, Math.min(first.length, at + piece));
            int last = at + piece >= first.length && !wrong() ? Frames.END_HEADERS : 0;
            all.writeBytes(Frames.frame(
                    at == 0 ? Frames.HEADERS : Frames.CONTINUATION, (at == 0 ? flags : 0) | last, id, part));
            if (wrong()) {
                all.writeBytes(Frames.frame(Frames.CONTINUATION, 0, id, new byte[0]));
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
                frames.add(Frames.frame(Frames.DATA, Frames.PADDED | (last ? Frames.END_STREAM : 0), id, padded));
            } else {
                frames.add(Frames.frame(Frames.DATA, last ? Frames.END_STREAM : 0, id, part));
            }
        }
        if (end && choices.chance(0.05)) {
            ByteArrayOutputStream trailers = new ByteArrayOutputStream();
            Frames.field(trailers, false, wrong() ? ":path" : "x-end", "1");
            heads(frames, id, trailers.toByteArray(), !wrong());
        }
        if (choices.chance(0.05)) {
            frames.add(Frames.frame(
                    Frames.WINDOW_UPDATE, 0, id, Frames.number(wrong() ? choices.pick(0, Integer.MAX_VALUE) : 1 << 16)));
        }
    }

    /** The frames of an answer: head, body, and a block of trailers, each maybe split, padded, or not what it should be. */
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

    /** A frame of any kind. */
    byte[] any(int streams) {
        int stream = choices.pick(0, 1, 2, choices.below(streams + 1), Integer.MAX_VALUE);
        return switch (choices.below(9)) {
            case 0 -> Frames.frame(Frames.PING, choices.below(2), stream % 3, new byte[choices.chance(0.9) ? 8 : 7]);
            case 1 -> Frames.frame(Frames.PRIORITY, 0, stream, choices.bytes(choices.chance(0.9) ? 5 : 4));
            case 2 -> Frames.frame(Frames.WINDOW_UPDATE, 0, stream, Frames.number((int) choices.number()));
            case 3 -> settings();
            case 4 -> Frames.frame(Frames.GOAWAY, 0, 0, choices.bytes(8 + choices.size(64)));
            case 5 -> Frames.frame(Frames.PUSH_PROMISE, 4, stream, choices.bytes(12));
            case 6 -> Frames.frame(choices.below(256), choices.below(256), stream, choices.bytes(choices.size(300)));
            case 7 ->
                Frames.frame(choices.below(10), choices.below(256), stream, choices.bytes(choices.size(40)), choices.size(1 << 17));
            default -> Frames.frame(Frames.RST_STREAM, 0, stream, Frames.number(choices.below(16)));
        };
    }

    /** Many of one frame. */
    private void flood(ByteArrayOutputStream out) {
        byte[] frame = switch (choices.below(5)) {
            case 0 -> Frames.frame(Frames.PING, 0, 0, new byte[8]);
            case 1 -> Frames.frame(Frames.SETTINGS, 0, 0, new byte[0]);
            case 2 -> Frames.frame(Frames.PRIORITY, 0, 1, new byte[5]);
            case 3 -> Frames.frame(Frames.WINDOW_UPDATE, 0, 0, Frames.number(1));
            default -> Frames.frame(Frames.DATA, 0, 1, new byte[0]);
        };
        int count = choices.size(30_000);
        for (int i = 0; i < count; i++) {
            out.writeBytes(frame);
        }
    }
}

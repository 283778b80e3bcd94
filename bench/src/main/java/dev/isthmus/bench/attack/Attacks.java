package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.util.List;

/** All attacks. */
public final class Attacks {
    private static final int MIB = 1 << 20;
    private static final String INDEX = "/v2/repository/index";
    private static final String INFER = "/v2/models/r/infer";
    private static final List<String> JSON = List.of("Content-Type: application/json");
    private static final List<String> GZIP = List.of("Content-Type: application/json", "Content-Encoding: gzip");
    /** Connections of an attack that only waits. */
    private static final int IDLE = 4_000;

    private static final byte[] NOTHING = new byte[0];

    /** All attacks, in the order in which they run. */
    public static final List<Attack> ALL = List.of(
            new GrpcMessage("unknown-fields", "ModelReady", "identity", 1, () -> Messages.unknownFields(4_700_000)),
            new GrpcMessage("unknown-fields-infer", "ModelInfer", "identity", 1, Attacks::inferWithUnknownFields),
            new RestBodies("json-keys", INDEX, JSON, 1, () -> Messages.keys("", 20_000_000, "")),
            new RestBodies("json-keys-infer", INFER, JSON, 1, Attacks::inferWithKeys),
            RestBodies.chunked("small-chunks", INDEX, () -> Messages.chunks(Messages.longJson(3_830_000))),
            RestBodies.chunked("small-chunks-infer", INFER, () -> Messages.chunks(Messages.longJson(3_830_000))),
            new SmallFrames(),
            new Pipelining(),
            new UnendedCalls("held-places", 102, 100, 1, 1_000, 1),
            new IdleConnections(
                    "half-heads",
                    IDLE,
                    Http1.text("POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nX-"),
                    NOTHING,
                    false),
            new IdleConnections(
                    "half-bodies",
                    IDLE,
                    FrameBytes.join(Http1.post("/v2/models/m/infer", "Content-Length: 100"), Http1.text("{")),
                    NOTHING,
                    false),
            new IdleConnections("idle-http2", IDLE, FrameBytes.hello(65_535), NOTHING, true),
            new IdleConnections(
                    "dripping-heads", IDLE, Http1.text("GET /v2 HTTP/1.1\r\nHost: a\r\nX-"), Http1.text("a"), false),
            new IdleConnections("large-heads", 9_500, Http1.text(largeHead()), NOTHING, false),
            new IdleConnections("large-header-blocks", 4_700, largeHeaderBlock(), NOTHING, true),
            new UnendedCalls("incomplete-messages", 16, 15, MIB - 1_024, MIB, 3),
            new SlowReaders("slow-readers-binary", "big", true),
            new SlowReaders("slow-readers-json", "big", false),
            new SlowReaders("slow-readers-rest", "big-rest", true),
            new ZeroWindow(),
            new RestBodies("gzip", INFER, GZIP, 100, () -> Messages.gzip(spaces())),
            new GrpcMessage("gzip-grpc", "ModelInfer", "gzip", 100, () -> Messages.gzip(new byte[60 * MIB])),
            new Flood("rapid-reset", 200, true, Attacks::resets),
            new Flood("pings", 500, true, turn -> times(frame(FrameBytes.PING, new byte[8]))),
            new Flood("unread-pings", 2_000, false, turn -> times(frame(FrameBytes.PING, new byte[8]))),
            new Flood(
                    "settings",
                    500,
                    true,
                    turn -> times(frame(FrameBytes.SETTINGS, FrameBytes.setting(3, 100 + turn)))),
            new Flood(
                    "window-updates", 500, true, turn -> times(frame(FrameBytes.WINDOW_UPDATE, FrameBytes.number(1)))),
            new Flood("empty-data", 500, true, Attacks::emptyData),
            new Flood("continuations", 500, true, Attacks::continuations),
            new Flood("header-bomb", 200, true, Attacks::bomb),
            new BadServer("goaway", "goaway", 100_000, 500, true),
            new BadServer("interim-answers", "interim", 200_000, 8, false),
            new BadServer("closed-pool", "closing", 300_000, 500, false),
            new BadServer("poison", "poison", 400_000, 400, false));

    private Attacks() {}

    /** The head of a request as large as it may be, without its end. */
    private static String largeHead() {
        return "GET /v2 HTTP/1.1\r\nHost: a\r\n" + ("x-field: " + "a".repeat(180) + "\r\n").repeat(80) + "X: "
                + "a".repeat(700);
    }

    /** A header block of 60 KB, without its end. */
    private static byte[] largeHeaderBlock() {
        byte[] block = FrameBytes.join(
                FrameBytes.block("ModelInfer"), FrameBytes.times(FrameBytes.fields("x", "a".repeat(1_000)), 59));
        return FrameBytes.join(FrameBytes.hello(65_535), FrameBytes.frame(FrameBytes.HEADERS, 0, 1, block));
    }

    private static byte[] inferWithUnknownFields() {
        return FrameBytes.join(Messages.infer("m", "", 4), Messages.unknownFields(4_700_000));
    }

    private static byte[] inferWithKeys() {
        return Messages.keys("{\"parameters\":", 20_000_000, ",\"inputs\":[]}");
    }

    private static byte[] spaces() {
        return FrameBytes.times(new byte[] {' '}, 60 * MIB);
    }

    private static byte[] frame(int type, byte[] payload) {
        return FrameBytes.frame(type, 0, 0, payload);
    }

    private static byte[] times(byte[] frame) {
        return FrameBytes.times(frame, 1_000);
    }

    /** 100 streams, each opened and reset at once. */
    private static byte[] resets(int turn) {
        byte[][] all = new byte[100][];
        for (int i = 0; i < all.length; i++) {
            int stream = 200 * turn + 2 * i + 1;
            all[i] = FrameBytes.join(
                    FrameBytes.call(stream, "ModelInfer"),
                    FrameBytes.frame(FrameBytes.RST_STREAM, 0, stream, FrameBytes.number(8)));
        }
        return FrameBytes.join(all);
    }

    /** Empty DATA frames on one stream. */
    private static byte[] emptyData(int turn) {
        byte[] data = times(FrameBytes.frame(FrameBytes.DATA, 0, 1, NOTHING));
        return turn == 0 ? FrameBytes.join(FrameBytes.call(1, "ModelInfer"), data) : data;
    }

    /** A header block that never ends. */
    private static byte[] continuations(int turn) {
        byte[] more = times(FrameBytes.frame(FrameBytes.CONTINUATION, 0, 1, FrameBytes.fields("a", "b")));
        return turn == 0
                ? FrameBytes.join(FrameBytes.frame(FrameBytes.HEADERS, 0, 1, FrameBytes.block("ModelInfer")), more)
                : more;
    }

    /** Requests with 16,000 references to one field of 3,000 bytes: 48 MB of header fields in 16 KB. */
    private static byte[] bomb(int turn) {
        int stream = 2 * turn + 1;
        byte[] references = FrameBytes.times(new byte[] {(byte) 0xbe}, turn == 0 ? 12_000 : 16_000);
        byte[] block = turn == 0
                ? FrameBytes.join(
                        FrameBytes.block("ModelInfer"), FrameBytes.indexed("x", "a".repeat(3_000)), references)
                : FrameBytes.join(FrameBytes.block("ModelInfer"), references);
        return FrameBytes.frame(FrameBytes.HEADERS, FrameBytes.END_HEADERS | FrameBytes.END_STREAM, stream, block);
    }
}

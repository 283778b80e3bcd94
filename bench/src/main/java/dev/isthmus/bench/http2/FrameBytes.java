package dev.isthmus.bench.http2;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Builds bytes of HTTP/2 and gRPC, valid or not: frames, uncompressed header blocks, message prefixes. */
public final class FrameBytes {
    public static final int DATA = 0;
    public static final int HEADERS = 1;
    public static final int PRIORITY = 2;
    public static final int RST_STREAM = 3;
    public static final int SETTINGS = 4;
    public static final int PUSH_PROMISE = 5;
    public static final int PING = 6;
    public static final int GOAWAY = 7;
    public static final int WINDOW_UPDATE = 8;
    public static final int CONTINUATION = 9;

    public static final int END_STREAM = 1;
    public static final int ACK = 1;
    public static final int END_HEADERS = 4;
    public static final int PADDED = 8;
    public static final int WITH_PRIORITY = 32;

    /** Length of a frame header in bytes. */
    public static final int HEAD = 9;

    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private FrameBytes() {}

    public static byte[] frame(int type, int flags, int stream, byte[] payload) {
        return frame(type, flags, stream, payload, payload.length);
    }

    /** A frame whose header has this length, whatever the payload's is. */
    public static byte[] frame(int type, int flags, int stream, byte[] payload, int length) {
        return ByteBuffer.allocate(HEAD + payload.length)
                .put((byte) (length >> 16))
                .putShort((short) length)
                .put((byte) type)
                .put((byte) flags)
                .putInt(stream)
                .put(payload)
                .array();
    }

    public static byte[] preface() {
        return PREFACE.clone();
    }

    /** Preface and SETTINGS with this initial window for the server's DATA. */
    public static byte[] hello(int streamWindow) {
        return join(PREFACE, frame(SETTINGS, 0, 0, setting(4, streamWindow)));
    }

    public static byte[] setting(int id, int value) {
        return ByteBuffer.allocate(6).putShort((short) id).putInt(value).array();
    }

    public static byte[] number(int value) {
        return ByteBuffer.allocate(4).putInt(value).array();
    }

    /** HEADERS of a gRPC call, with further headers as name and value pairs. */
    public static byte[] call(int stream, String method, String... headers) {
        return frame(HEADERS, END_HEADERS, stream, join(block(method), fields(headers)));
    }

    /** The header block of a gRPC call. */
    public static byte[] block(String method) {
        return fields(
                ":method",
                "POST",
                ":scheme",
                "http",
                ":path",
                "/inference.GRPCInferenceService/" + method,
                ":authority",
                "a",
                "content-type",
                "application/grpc",
                "te",
                "trailers");
    }

    /** Header fields as literals without indexing, from name and value pairs. */
    public static byte[] fields(String... namesAndValues) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            field(block, false, namesAndValues[i], namesAndValues[i + 1]);
        }
        return block.toByteArray();
    }

    /** A literal field with incremental indexing. */
    public static byte[] indexed(String name, String value) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        field(block, true, name, value);
        return block.toByteArray();
    }

    /** A field with literal name and value, with or without incremental indexing. */
    public static void field(ByteArrayOutputStream block, boolean indexed, String name, String value) {
        block.write(indexed ? 0x40 : 0);
        string(block, name);
        string(block, value);
    }

    private static void string(ByteArrayOutputStream block, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        integer(block, 0, 7, bytes.length);
        block.writeBytes(bytes);
    }

    /** An HPACK integer with a prefix of this many bits; {@code bits} are the upper bits of the first byte. */
    public static void integer(ByteArrayOutputStream block, int bits, int prefix, int value) {
        int most = (1 << prefix) - 1;
        if (value < most) {
            block.write(bits | value);
            return;
        }
        block.write(bits | most);
        int left = value - most;
        for (; left >= 128; left >>>= 7) {
            block.write(left & 127 | 128);
        }
        block.write(left);
    }

    /** A gRPC message with its prefix, or the beginning of a message with this announced length. */
    public static byte[] message(boolean compressed, int announced, byte[] bytes) {
        return ByteBuffer.allocate(5 + bytes.length)
                .put((byte) (compressed ? 1 : 0))
                .putInt(announced)
                .put(bytes)
                .array();
    }

    public static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    /** The same bytes repeated. */
    public static byte[] times(byte[] part, int count) {
        byte[] all = new byte[part.length * count];
        for (int i = 0; i < count; i++) {
            System.arraycopy(part, 0, all, i * part.length, part.length);
        }
        return all;
    }
}

package dev.isthmus.bench.attack;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Bytes of HTTP/2 and gRPC: frames, header blocks without compression, message prefixes. */
final class Frames {
    static final int DATA = 0;
    static final int HEADERS = 1;
    static final int PRIORITY = 2;
    static final int RST_STREAM = 3;
    static final int SETTINGS = 4;
    static final int PING = 6;
    static final int GOAWAY = 7;
    static final int WINDOW_UPDATE = 8;
    static final int CONTINUATION = 9;

    static final int END_STREAM = 1;
    static final int ACK = 1;
    static final int END_HEADERS = 4;
    static final int HEAD = 9;

    private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private Frames() {}

    static byte[] frame(int type, int flags, int stream, byte[] payload) {
        return ByteBuffer.allocate(HEAD + payload.length)
                .put((byte) (payload.length >> 16))
                .putShort((short) payload.length)
                .put((byte) type)
                .put((byte) flags)
                .putInt(stream)
                .put(payload)
                .array();
    }

    /** Preface and settings; the windows of streams are for what the server sends. */
    static byte[] hello(int streamWindow) {
        return join(PREFACE, frame(SETTINGS, 0, 0, setting(4, streamWindow)));
    }

    static byte[] setting(int id, int value) {
        return ByteBuffer.allocate(6).putShort((short) id).putInt(value).array();
    }

    static byte[] number(int value) {
        return ByteBuffer.allocate(4).putInt(value).array();
    }

    /** The head of a gRPC call, with further headers as names and values in turn. */
    static byte[] call(int stream, String method, String... headers) {
        return frame(HEADERS, END_HEADERS, stream, join(block(method), fields(headers)));
    }

    /** The header block of a gRPC call. */
    static byte[] block(String method) {
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

    /** Header fields as literals that are not indexed; names and values in turn. */
    static byte[] fields(String... namesAndValues) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            block.write(0);
            string(block, namesAndValues[i]);
            string(block, namesAndValues[i + 1]);
        }
        return block.toByteArray();
    }

    /** A field that goes into the dynamic table. */
    static byte[] indexed(String name, String value) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.write(0x40);
        string(block, name);
        string(block, value);
        return block.toByteArray();
    }

    private static void string(ByteArrayOutputStream block, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        int length = bytes.length;
        if (length < 127) {
            block.write(length);
        } else {
            block.write(127);
            for (length -= 127; length >= 128; length >>= 7) {
                block.write(length & 127 | 128);
            }
            block.write(length);
        }
        block.writeBytes(bytes);
    }

    /** A gRPC message with its prefix, or the beginning of one that is announced to be longer. */
    static byte[] message(boolean compressed, int announced, byte[] bytes) {
        return ByteBuffer.allocate(5 + bytes.length)
                .put((byte) (compressed ? 1 : 0))
                .putInt(announced)
                .put(bytes)
                .array();
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    /** The same bytes so many times. */
    static byte[] times(byte[] part, int count) {
        byte[] all = new byte[part.length * count];
        for (int i = 0; i < count; i++) {
            System.arraycopy(part, 0, all, i * part.length, part.length);
        }
        return all;
    }
}

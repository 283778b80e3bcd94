package dev.isthmus.bench.fuzz;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes frames and header blocks of HTTP/2, as they are told to be. */
final class Frames {
    static final int DATA = 0;
    static final int HEADERS = 1;
    static final int PRIORITY = 2;
    static final int RST_STREAM = 3;
    static final int SETTINGS = 4;
    static final int PUSH_PROMISE = 5;
    static final int PING = 6;
    static final int GOAWAY = 7;
    static final int WINDOW_UPDATE = 8;
    static final int CONTINUATION = 9;

    static final int END_STREAM = 1;
    static final int ACK = 1;
    static final int END_HEADERS = 4;
    static final int PADDED = 8;
    static final int WITH_PRIORITY = 32;

    private Frames() {}

    static byte[] frame(int type, int flags, int stream, byte[] payload) {
        return frame(type, flags, stream, payload, payload.length);
    }

    /** A frame that says another length than it has. */
    static byte[] frame(int type, int flags, int stream, byte[] payload, int length) {
        byte[] frame = new byte[9 + payload.length];
        frame[0] = (byte) (length >> 16);
        frame[1] = (byte) (length >> 8);
        frame[2] = (byte) length;
        frame[3] = (byte) type;
        frame[4] = (byte) flags;
        put(frame, 5, stream);
        System.arraycopy(payload, 0, frame, 9, payload.length);
        return frame;
    }

    static byte[] number(int value) {
        byte[] bytes = new byte[4];
        put(bytes, 0, value);
        return bytes;
    }

    static byte[] setting(int id, int value) {
        byte[] bytes = new byte[6];
        bytes[0] = (byte) (id >> 8);
        bytes[1] = (byte) id;
        put(bytes, 2, value);
        return bytes;
    }

    private static void put(byte[] bytes, int at, int value) {
        bytes[at] = (byte) (value >> 24);
        bytes[at + 1] = (byte) (value >> 16);
        bytes[at + 2] = (byte) (value >> 8);
        bytes[at + 3] = (byte) value;
    }

    /** A header field with literal name and value, put into the dynamic table or not. */
    static void field(ByteArrayOutputStream block, boolean indexed, String name, String value) {
        block.write(indexed ? 0x40 : 0);
        string(block, name);
        string(block, value);
    }

    private static void string(ByteArrayOutputStream block, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        integer(block, 0, 7, bytes.length);
        block.writeBytes(bytes);
    }

    /** An integer of HPACK behind the bits of a first byte. */
    static void integer(ByteArrayOutputStream block, int bits, int prefix, int value) {
        int most = (1 << prefix) - 1;
        if (value < most) {
            block.write(bits | value);
            return;
        }
        block.write(bits | most);
        int left = value - most;
        while (left >= 128) {
            block.write(left & 127 | 128);
            left >>>= 7;
        }
        block.write(left);
    }
}

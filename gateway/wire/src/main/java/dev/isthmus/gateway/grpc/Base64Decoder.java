package dev.isthmus.gateway.grpc;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;

/**
 * Decodes base64 (RFC 4648, 4) that arrives in parts, split anywhere. Padding may end any group of four characters, as
 * where encoded texts are joined (gRPC-Web, "Protocol differences vs gRPC over HTTP2"). Holds no more than one group.
 */
public final class Base64Decoder {
    private static final int GROUP = 4;
    /** Characters that are decoded in one step. */
    private static final int STEP = 8 * 1024;

    private static final int NO_GROUP = -1;
    private static final byte[] VALUES = values();

    private final ByteBufAllocator allocator;
    /** The bits of the incomplete group. */
    private int bits;
    /** Characters of the incomplete group, with its padding. */
    private int characters;

    private int padding;

    /** A decoder of one text. */
    public Base64Decoder(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    private static byte[] values() {
        byte[] values = new byte[256];
        Arrays.fill(values, (byte) -1);
        String alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (int i = 0; i < alphabet.length(); i++) {
            values[alphabet.charAt(i)] = (byte) i;
        }
        return values;
    }

    /**
     * Decodes the next part of the text.
     *
     * @param part taken
     * @return the bytes of all groups that are complete, owned by the caller; possibly none
     * @throws OipException INVALID_ARGUMENT for what is not base64
     */
    public ByteBuf decode(ByteBuf part) {
        int most = (int) ((characters + (long) part.readableBytes()) / GROUP * 3);
        ByteBuf out = allocator.buffer(most, most);
        try {
            // Every byte changes, so a copy is necessary. Arrays are read and written much faster than buffers.
            byte[] text = new byte[Math.min(STEP, part.readableBytes())];
            byte[] bytes = new byte[(text.length + GROUP) / GROUP * 3];
            while (part.isReadable()) {
                int length = Math.min(text.length, part.readableBytes());
                part.readBytes(text, 0, length);
                out.writeBytes(bytes, 0, decode(text, length, bytes));
            }
            return out.retain();
        } finally {
            part.release();
            out.release();
        }
    }

    /** Returns the number of bytes decoded. */
    private int decode(byte[] text, int length, byte[] bytes) {
        int decoded = 0;
        int at = 0;
        while (at < length) {
            int value = characters == 0 && at + GROUP <= length ? wholeGroup(text, at) : NO_GROUP;
            if (value >= 0) {
                bytes[decoded++] = (byte) (value >> 16);
                bytes[decoded++] = (byte) (value >> 8);
                bytes[decoded++] = (byte) value;
                at += GROUP;
            } else {
                add(text[at++] & 0xff);
                if (characters == GROUP) {
                    decoded += takeGroup(bytes, decoded);
                }
            }
        }
        return decoded;
    }

    /** The bits of a group without padding; negative for any other. */
    private static int wholeGroup(byte[] text, int at) {
        return VALUES[text[at] & 0xff] << 18
                | VALUES[text[at + 1] & 0xff] << 12
                | VALUES[text[at + 2] & 0xff] << 6
                | VALUES[text[at + 3] & 0xff];
    }

    /** Adds a character to the incomplete group. */
    private void add(int character) {
        int value = VALUES[character];
        if (character == '=' && characters >= 2) {
            padding++;
            value = 0;
        } else if (value < 0 || padding > 0) {
            throw OipException.invalid(String.format(
                    "gRPC-Web: base64 is expected, got the byte 0x%02x at position %d of a group of four",
                    character, characters + 1));
        }
        bits = bits << 6 | value;
        characters++;
    }

    /** Writes the bytes of the group, which is complete, and begins another one; returns their number. */
    private int takeGroup(byte[] bytes, int from) {
        int count = 3 - padding;
        for (int i = 0; i < count; i++) {
            bytes[from + i] = (byte) (bits >> (16 - 8 * i));
        }
        bits = 0;
        characters = 0;
        padding = 0;
        return count;
    }

    /** Whether a group is incomplete. */
    public boolean partial() {
        return characters > 0;
    }
}

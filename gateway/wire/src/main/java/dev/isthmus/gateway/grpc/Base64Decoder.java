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
            while (part.isReadable()) {
                if (characters > 0 || !wholeGroup(part, out)) {
                    character(part.readUnsignedByte(), out);
                }
            }
            return out.retain();
        } finally {
            part.release();
            out.release();
        }
    }

    /** Decodes one group without padding; returns false for any other. */
    private static boolean wholeGroup(ByteBuf part, ByteBuf out) {
        if (part.readableBytes() < GROUP) {
            return false;
        }
        int text = part.getInt(part.readerIndex());
        int value = VALUES[text >>> 24] << 18
                | VALUES[text >>> 16 & 0xff] << 12
                | VALUES[text >>> 8 & 0xff] << 6
                | VALUES[text & 0xff];
        if (value < 0) {
            return false;
        }
        out.writeMedium(value);
        part.skipBytes(GROUP);
        return true;
    }

    private void character(int character, ByteBuf out) {
        int value = VALUES[character];
        if (character == '=' && characters >= 2) {
            padding++;
        } else if (value < 0 || padding > 0) {
            throw OipException.invalid(String.format(
                    "gRPC-Web: base64 is expected, got the byte 0x%02x at position %d of a group of four",
                    character, characters + 1));
        } else {
            bits = bits << 6 | value;
        }
        characters++;
        if (characters == GROUP) {
            write(out);
        }
    }

    private void write(ByteBuf out) {
        switch (padding) {
            case 0 -> out.writeMedium(bits);
            case 1 -> out.writeShort(bits >> 2);
            default -> out.writeByte(bits >> 4);
        }
        bits = 0;
        characters = 0;
        padding = 0;
    }

    /** Whether a group is incomplete. */
    public boolean partial() {
        return characters > 0;
    }
}

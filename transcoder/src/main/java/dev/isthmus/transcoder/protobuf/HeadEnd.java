package dev.isthmus.transcoder.protobuf;

import io.netty.buffer.ByteBuf;

/**
 * Finds where the head of a ModelInferRequest ends, all that stands before its raw contents, while the message is still coming.
 * What has been looked at is not looked at again.
 */
public final class HeadEnd {
    /** What {@link #in} says until more of the message has come. */
    public static final int NOT_YET = -1;

    /** What {@link #in} says of a message without such a head: it is malformed, or what comes first is large itself. */
    public static final int NONE = -2;

    /** A head that is longer is not one, in bytes. */
    private static final int MOST = 64 << 10;

    private static final int MOST_SHIFT = 63;

    private int field;
    private int at;
    private long number;

    /**
     * Looks on.
     *
     * @param begun the message from its first byte, as far as it has come; borrowed
     * @return the length of the head, once the beginning of the raw contents has come with it
     */
    public int in(ByteBuf begun) {
        while (field <= MOST) {
            at = field;
            int failed = read(begun);
            if (failed != 0) {
                return failed;
            }
            if (number == RawRequest.TAG) {
                return field;
            }
            failed = skip(begun, (int) (number & 7));
            if (failed != 0) {
                return failed;
            }
            field = at;
        }
        return NONE;
    }

    private int skip(ByteBuf begun, int wireType) {
        switch (wireType) {
            case ProtoCursor.VARINT -> {
                return read(begun);
            }
            case ProtoCursor.FIXED64 -> at += Long.BYTES;
            case ProtoCursor.FIXED32 -> at += Integer.BYTES;
            case ProtoCursor.BYTES -> {
                int failed = read(begun);
                if (failed != 0) {
                    return failed;
                }
                if (number < 0 || number > MOST) {
                    return NONE;
                }
                at += (int) number;
            }
            default -> {
                return NONE;
            }
        }
        return 0;
    }

    /** Reads the number at {@link #at}, which moves behind it; 0 where that can be done. */
    private int read(ByteBuf begun) {
        number = 0;
        for (int shift = 0; shift <= MOST_SHIFT; shift += 7) {
            if (at >= begun.readableBytes()) {
                return NOT_YET;
            }
            byte b = begun.getByte(begun.readerIndex() + at);
            at++;
            number |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return 0;
            }
        }
        return NONE;
    }
}

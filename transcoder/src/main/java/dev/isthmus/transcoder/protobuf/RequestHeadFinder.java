package dev.isthmus.transcoder.protobuf;

import io.netty.buffer.ByteBuf;

/**
 * Finds the end of a ModelInferRequest's head, which is everything before its raw contents, while the message arrives.
 * Bytes are examined only once.
 */
public final class RequestHeadFinder {
    /** Returned by {@link #in} if more of the message is needed. */
    public static final int NOT_YET = -1;

    /** Returned by {@link #in} for a message without such a head: it is malformed, or its first fields are large. */
    public static final int NONE = -2;

    /** The maximum length of a head, in bytes. */
    private static final int MAX = 64 << 10;

    private static final int MAX_SHIFT = 63;

    private int field;
    private int at;
    private long number;

    /**
     * Continues the search.
     *
     * @param begun the message from its first byte, as far as received; borrowed
     * @return the length of the head, once the start of the raw contents is received
     */
    public int in(ByteBuf begun) {
        while (field <= MAX) {
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
                if (number < 0 || number > MAX) {
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

    /** Reads the varint at {@link #at} and advances; returns 0 if it is complete. */
    private int read(ByteBuf begun) {
        number = 0;
        for (int shift = 0; shift <= MAX_SHIFT; shift += 7) {
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

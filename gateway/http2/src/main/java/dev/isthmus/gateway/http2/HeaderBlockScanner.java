package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;

/** Scans a header block without decoding it (RFC 7541, 6). */
final class HeaderBlockScanner {
    private static final int INDEXED = 0x80;
    private static final int INCREMENTAL = 0x40;
    private static final int SIZE_UPDATE = 0x20;

    private HeaderBlockScanner() {}

    /** Whether no representation of the block changes the dynamic table. Also false for a truncated block. */
    static boolean keepsDynamicTable(ByteBuf in, int from, int length) {
        int end = from + length;
        int at = from;
        while (at < end) {
            int first = in.getByte(at);
            if ((first & INDEXED) != 0) {
                at = afterInteger(in, at, end, 7);
            } else if ((first & (INCREMENTAL | SIZE_UPDATE)) != 0) {
                return false;
            } else {
                at = afterLiteral(in, at, end, first, 4);
            }
        }
        return at == end;
    }

    /** Whether a block has more than {@code most} representations; one that is truncated counts. */
    static boolean hasMore(ByteBuf in, int from, int length, int most) {
        int end = from + length;
        int at = from;
        int count = 0;
        while (at < end && count <= most) {
            at = next(in, at, end);
            count++;
        }
        return count > most;
    }

    private static int next(ByteBuf in, int at, int end) {
        int first = in.getByte(at);
        if ((first & INDEXED) != 0) {
            return afterInteger(in, at, end, 7);
        }
        if ((first & INCREMENTAL) == 0 && (first & SIZE_UPDATE) != 0) {
            return afterInteger(in, at, end, 5);
        }
        return afterLiteral(in, at, end, first, (first & INCREMENTAL) != 0 ? 6 : 4);
    }

    private static int afterLiteral(ByteBuf in, int at, int end, int first, int prefix) {
        int next = afterInteger(in, at, end, prefix);
        if ((first & ((1 << prefix) - 1)) == 0) {
            next = afterText(in, next, end);
        }
        return afterText(in, next, end);
    }

    /** The index after a string literal; beyond {@code end} if it is truncated. */
    private static int afterText(ByteBuf in, int at, int end) {
        if (at >= end) {
            return end + 1;
        }
        int next = afterInteger(in, at, end, 7);
        long length = in.getByte(at) & 0x7f;
        if (length == 0x7f) {
            for (int i = at + 1, shift = 0; i < Math.min(next, end); i++, shift += 7) {
                length += shift > 28 ? Integer.MAX_VALUE : (in.getByte(i) & 0x7fL) << shift;
            }
        }
        return (int) Math.min(end + 1L, next + length);
    }

    private static int afterInteger(ByteBuf in, int at, int end, int prefix) {
        int max = (1 << prefix) - 1;
        int next = at + 1;
        if ((in.getByte(at) & max) < max) {
            return next;
        }
        while (next < end && in.getByte(next) < 0) {
            next++;
        }
        return next + 1;
    }
}

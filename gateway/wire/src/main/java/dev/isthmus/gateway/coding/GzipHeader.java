package dev.isthmus.gateway.coding;

import java.util.Iterator;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;

/** The header of a gzip member, byte by byte (RFC 1952, 2.3). */
final class GzipHeader {
    private static final int[] START = {0x1f, 0x8b, 8};
    private static final int FLAGS_AT = 3;
    private static final int FIXED_BYTES = 10;
    private static final int HAS_CRC = 1 << 1;
    private static final int HAS_EXTRA = 1 << 2;
    private static final int HAS_NAME = 1 << 3;
    private static final int HAS_COMMENT = 1 << 4;
    private static final int RESERVED = 0xe0;

    private enum HeaderPart {
        FIXED,
        EXTRA_LENGTH,
        EXTRA,
        NAME,
        COMMENT,
        CRC,
        END
    }

    private final CRC32 crc = new CRC32();
    private final Iterator<HeaderPart> parts = List.of(HeaderPart.values()).iterator();
    private HeaderPart part = parts.next();
    /** Bytes taken of the part. */
    private int taken;

    private int flags;
    private int number;

    /** Whether nothing of it has come. */
    boolean empty() {
        return part == HeaderPart.FIXED && taken == 0;
    }

    boolean complete() {
        return part == HeaderPart.END;
    }

    /** @throws DataFormatException where this is no such header */
    void take(byte octet) throws DataFormatException {
        int value = octet & 0xff;
        if (part == HeaderPart.CRC) {
            number |= value << (8 * taken++);
            if (taken == Short.BYTES) {
                require(number == (crc.getValue() & 0xffff), "header's checksum");
                part = parts.next();
            }
            return;
        }
        crc.update(value);
        boolean ended = switch (part) {
            case FIXED -> fixed(value);
            case EXTRA_LENGTH -> {
                number |= value << (8 * taken++);
                yield taken == Short.BYTES;
            }
            case EXTRA -> --number == 0;
            case NAME, COMMENT -> value == 0;
            case CRC, END -> throw new IllegalStateException("the header is complete");
        };
        if (ended) {
            next();
        }
    }

    private boolean fixed(int value) throws DataFormatException {
        if (taken < START.length) {
            require(value == START[taken], "first bytes");
        } else if (taken == FLAGS_AT) {
            flags = value;
            require((flags & RESERVED) == 0, "flags");
        }
        taken++;
        return taken == FIXED_BYTES;
    }

    /** On to the next part that the flags announce. */
    private void next() {
        do {
            part = parts.next();
        } while (!announced());
        taken = 0;
        if (part != HeaderPart.EXTRA) {
            number = 0;
        }
    }

    private boolean announced() {
        return switch (part) {
            case EXTRA_LENGTH -> (flags & HAS_EXTRA) != 0;
            case EXTRA -> number > 0;
            case NAME -> (flags & HAS_NAME) != 0;
            case COMMENT -> (flags & HAS_COMMENT) != 0;
            case CRC -> (flags & HAS_CRC) != 0;
            case FIXED, END -> true;
        };
    }

    private static void require(boolean right, String what) throws DataFormatException {
        if (!right) {
            throw new DataFormatException("gzip: not its " + what);
        }
    }
}

package dev.isthmus.gateway.coding;

import java.util.Iterator;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;

/** Parses the header of a gzip member byte by byte (RFC 1952, 2.3). */
final class GzipHeader {
    private static final int[] MAGIC = {0x1f, 0x8b, 8};
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
    /** Bytes read of the current part. */
    private int count;

    private int flags;
    private int number;

    /** Whether no byte was read. */
    boolean empty() {
        return part == HeaderPart.FIXED && count == 0;
    }

    boolean complete() {
        return part == HeaderPart.END;
    }

    /** @throws DataFormatException if this is not a gzip header */
    void take(byte octet) throws DataFormatException {
        int value = octet & 0xff;
        if (part == HeaderPart.CRC) {
            number |= value << (8 * count++);
            if (count == Short.BYTES) {
                require(number == (crc.getValue() & 0xffff), "header checksum");
                part = parts.next();
            }
            return;
        }
        crc.update(value);
        boolean ended = switch (part) {
            case FIXED -> fixed(value);
            case EXTRA_LENGTH -> {
                number |= value << (8 * count++);
                yield count == Short.BYTES;
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
        if (count < MAGIC.length) {
            require(value == MAGIC[count], "magic bytes");
        } else if (count == FLAGS_AT) {
            flags = value;
            require((flags & RESERVED) == 0, "flags");
        }
        count++;
        return count == FIXED_BYTES;
    }

    /** Advances to the next part that the flags announce. */
    private void next() {
        do {
            part = parts.next();
        } while (!announced());
        count = 0;
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

    private static void require(boolean valid, String what) throws DataFormatException {
        if (!valid) {
            throw new DataFormatException("invalid gzip " + what);
        }
    }
}

package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Encodes header blocks (RFC 7541). Constant fields are added to the dynamic table while it has space; entries are
 * never evicted, so an entry's index follows from the order of insertion. All other fields are literals. Huffman coding
 * is not used: on the networks this is for, it costs more than the bytes it saves.
 */
final class HeaderEncoder {
    /** Maximum length of an encoded integer in bytes. */
    static final int MAX_INTEGER = 6;

    /** Maximum length of the table size updates before the fields of a block, in bytes. */
    static final int MAX_PREFIX = MAX_INTEGER;

    /** The default of SETTINGS_HEADER_TABLE_SIZE in bytes (RFC 7541, 4.2). */
    private static final int DEFAULT_TABLE = 4096;

    /** Our own limit of the table size in bytes. */
    private static final int MAX_TABLE = 3072;

    private static final int ENTRY_OVERHEAD = 32;
    private static final int SLOTS = 256;

    /** A hash table with linear probing. There are at most 3072 / 32 entries, so slots are always free. */
    private @Nullable HeaderField[] fields = new @Nullable HeaderField[0];

    private int[] insertedAs = new int[0];
    private int inserted;
    private int used;
    private int capacity = MAX_TABLE;
    private int announce = -1;

    /** The peer's SETTINGS_HEADER_TABLE_SIZE. Clears the table; the next block announces it (RFC 7541, 4.2). */
    void peerTableSize(long size) {
        if (size >= DEFAULT_TABLE && announce < 0) {
            return;
        }
        capacity = (int) Math.min(size, MAX_TABLE);
        announce = capacity;
        fields = new @Nullable HeaderField[0];
        insertedAs = new int[0];
        inserted = 0;
        used = 0;
    }

    /**
     * Encodes a block.
     *
     * @param out has at least {@link #MAX_PREFIX} + {@link HeaderFieldList#bound()} writable bytes
     */
    void encode(HeaderFieldList message, ByteBuf out) {
        if (announce >= 0) {
            // A size of 0 first, so that the decoder evicts all entries, too.
            integer(out, 0x20, 5, 0);
            if (announce > 0) {
                integer(out, 0x20, 5, announce);
            }
            announce = -1;
        }
        encodeFields(message, out);
    }

    private void encodeFields(HeaderFieldList message, ByteBuf out) {
        if (message.base() != null) {
            encodeFields(message.base(), out);
        }
        for (HeaderField field : message.own()) {
            switch (field.indexing()) {
                case CONSTANT -> constant(field, out);
                case LITERAL -> literal(field, 0x00, 4, out);
                case NEVER -> literal(field, 0x10, 4, out);
            }
        }
    }

    private void constant(HeaderField field, ByteBuf out) {
        int index = field.staticEntry();
        if (index > 0) {
            integer(out, 0x80, 7, index);
            return;
        }
        int slot = slotOf(field);
        if (slot >= 0 && fields[slot] != null) {
            integer(out, 0x80, 7, StaticTable.SIZE + inserted - insertedAs[slot]);
            return;
        }
        int size = field.name().length() + field.value().length() + ENTRY_OVERHEAD;
        if (used + size > capacity) {
            literal(field, 0x00, 4, out);
            return;
        }
        insert(field, size);
        literal(field, 0x40, 6, out);
    }

    private void insert(HeaderField field, int size) {
        if (fields.length == 0) {
            fields = new @Nullable HeaderField[SLOTS];
            insertedAs = new int[SLOTS];
        }
        int slot = slotOf(field);
        fields[slot] = field;
        insertedAs[slot] = inserted++;
        used += size;
    }

    /** The slot of the field, or the free slot for it; -1 while there is no table. */
    private int slotOf(HeaderField field) {
        if (fields.length == 0) {
            return -1;
        }
        int slot = field.hash() & (SLOTS - 1);
        for (HeaderField held = fields[slot]; held != null && !held.same(field); held = fields[slot]) {
            slot = (slot + 1) & (SLOTS - 1);
        }
        return slot;
    }

    private static void literal(HeaderField field, int pattern, int prefix, ByteBuf out) {
        int name = field.staticName();
        integer(out, pattern, prefix, name);
        if (name == 0) {
            text(out, field.name());
        }
        text(out, field.value());
    }

    private static void text(ByteBuf out, CharSequence text) {
        integer(out, 0, 7, text.length());
        if (text instanceof AsciiString ascii) {
            out.writeBytes(ascii.array(), ascii.arrayOffset(), ascii.length());
        } else {
            ByteBufUtil.writeAscii(out, text);
        }
    }

    /** An integer with a prefix of {@code prefix} bits (RFC 7541, 5.1). */
    private static void integer(ByteBuf out, int pattern, int prefix, int value) {
        int max = (1 << prefix) - 1;
        if (value < max) {
            out.writeByte(pattern | value);
            return;
        }
        out.writeByte(pattern | max);
        int rest = value - max;
        while (rest >= 0x80) {
            out.writeByte((rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        out.writeByte(rest);
    }
}

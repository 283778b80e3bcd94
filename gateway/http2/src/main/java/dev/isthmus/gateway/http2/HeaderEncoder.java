package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.AsciiString;
import org.jspecify.annotations.Nullable;

/**
 * Writes header blocks (RFC 7541). Constant fields enter the peer's table while it has room; nothing is ever evicted,
 * so an entry's place is known from when it entered. Everything else goes as it is. Nothing is Huffman coded: on the
 * networks this is for, bytes of a header cost less than coding them.
 */
final class HeaderEncoder {
    /** The most bytes of an encoded integer. */
    static final int MAX_INTEGER = 6;

    /** The most bytes that go before the fields of a block. */
    static final int MAX_PREFIX = MAX_INTEGER;

    /** What a decoder has room for unless its SETTINGS say otherwise (RFC 7541, 4.2). */
    private static final int DEFAULT_TABLE = 4096;

    /** No more of the peer's memory is used. */
    private static final int MAX_TABLE = 3072;

    private static final int ENTRY_OVERHEAD = 32;
    private static final int SLOTS = 256;

    /** Sparse: an entry is at the slot of its hash or after it. Entries are at most 3072 / 32, so there are free slots. */
    private @Nullable HeaderField[] fields = new @Nullable HeaderField[0];

    private int[] insertedAs = new int[0];
    private int inserted;
    private int used;
    private int room = MAX_TABLE;
    private int announce = -1;

    /** The peer's SETTINGS_HEADER_TABLE_SIZE. The table begins anew, which the next block says (RFC 7541, 4.2). */
    void peerTableSize(long size) {
        if (size >= DEFAULT_TABLE && announce < 0) {
            return;
        }
        room = (int) Math.min(size, MAX_TABLE);
        announce = room;
        fields = new @Nullable HeaderField[0];
        insertedAs = new int[0];
        inserted = 0;
        used = 0;
    }

    /**
     * Writes a block.
     *
     * @param out has room for {@link #MAX_PREFIX} and {@link HeaderFieldList#bound()} bytes
     */
    void encode(HeaderFieldList message, ByteBuf out) {
        if (announce >= 0) {
            // To nothing first: whatever the decoder still holds goes, as it went here.
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
        if (used + size > room) {
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

    /** Where the field is or would be; -1 while there is no table. */
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

    /** An integer with a prefix of so many bits (RFC 7541, 5.1). */
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

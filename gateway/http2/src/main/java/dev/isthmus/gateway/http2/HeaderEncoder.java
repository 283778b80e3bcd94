package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Encodes header blocks (RFC 7541). Constant fields are added to the dynamic table while it has space; entries are
 * never evicted, so an entry's index follows from the order of insertion, and a list of constants is encoded alike until
 * the next insertion. All other fields are literals. Huffman coding is not used: on the networks this is for, it costs
 * more than the bytes it saves.
 */
final class HeaderEncoder {
    /** Maximum length of an encoded integer in bytes. */
    static final int MAX_INTEGER = 6;

    /** Maximum length of the table size updates before the fields of a block, in bytes. */
    private static final int MAX_PREFIX = MAX_INTEGER;

    /** The default of SETTINGS_HEADER_TABLE_SIZE in bytes (RFC 7541, 4.2). */
    private static final int DEFAULT_TABLE = 4096;

    /** Our own limit of the table size in bytes. */
    private static final int MAX_TABLE = 3072;

    private static final int ENTRY_OVERHEAD = 32;
    private static final int SLOTS = 256;

    /** Lists of constants whose encoded form is kept: those of requests, or of responses and their trailers. */
    private static final int REMEMBERED = 4;

    /** A larger block, in bytes, is not kept for the next one. */
    private static final int KEPT = 512;

    private static final byte[] NO_BYTES = {};

    private byte[] block = NO_BYTES;
    private int length;

    /** A hash table with linear probing. There are at most 3072 / 32 entries, so slots are always free. */
    private @Nullable HeaderField[] fields = new @Nullable HeaderField[0];

    private int[] insertedAs = new int[0];
    private int inserted;
    private int used;
    private int capacity = MAX_TABLE;
    private int announce = -1;
    private final @Nullable EncodedConstants[] remembered = new @Nullable EncodedConstants[REMEMBERED];
    private int nextRemembered;

    /**
     * The encoded form of a list of constants.
     *
     * @param inserted how many entries the dynamic table had
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record EncodedConstants(HeaderFieldList fields, int inserted, byte[] bytes) {}

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
        for (int i = 0; i < REMEMBERED; i++) {
            remembered[i] = null;
        }
    }

    /** Encodes a block; returns its length. It is at the start of {@link #block} until the next one. */
    int encode(HeaderFieldList message) {
        int bound = MAX_PREFIX + message.bound();
        if (block.length < bound) {
            block = new byte[bound];
        }
        length = 0;
        if (announce >= 0) {
            // A size of 0 first, so that the decoder evicts all entries, too.
            integer(0x20, 5, 0);
            if (announce > 0) {
                integer(0x20, 5, announce);
            }
            announce = -1;
        }
        encodeFields(message);
        return length;
    }

    /** The encoded block. */
    byte[] block() {
        return block;
    }

    /** The block was written: its memory is kept for the next one if it is small. */
    void clear() {
        if (block.length > KEPT) {
            block = NO_BYTES;
        }
    }

    private void encodeFields(HeaderFieldList message) {
        if (message.isConstant()) {
            constants(message);
            return;
        }
        if (message.base() != null) {
            encodeFields(message.base());
        }
        for (HeaderField field : message.own()) {
            switch (field.indexing()) {
                case CONSTANT -> constant(field);
                case LITERAL -> literal(field, 0x00, 4);
                case NEVER -> literal(field, 0x10, 4);
            }
        }
    }

    private void constants(HeaderFieldList message) {
        for (EncodedConstants each : remembered) {
            if (each != null && each.fields == message && each.inserted == inserted) {
                System.arraycopy(each.bytes, 0, block, length, each.bytes.length);
                length += each.bytes.length;
                return;
            }
        }
        int from = length;
        int before = inserted;
        for (HeaderField field : message.own()) {
            constant(field);
        }
        if (inserted == before) {
            remembered[nextRemembered] =
                    new EncodedConstants(message, inserted, Arrays.copyOfRange(block, from, length));
            nextRemembered = (nextRemembered + 1) % REMEMBERED;
        }
    }

    private void constant(HeaderField field) {
        int index = field.staticEntry();
        if (index > 0) {
            integer(0x80, 7, index);
            return;
        }
        int slot = slotOf(field);
        if (slot >= 0 && fields[slot] != null) {
            integer(0x80, 7, StaticTable.SIZE + inserted - insertedAs[slot]);
            return;
        }
        int size = field.name().length() + field.value().length() + ENTRY_OVERHEAD;
        if (used + size > capacity) {
            literal(field, 0x00, 4);
            return;
        }
        insert(field, size);
        literal(field, 0x40, 6);
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

    private void literal(HeaderField field, int pattern, int prefix) {
        int name = field.staticName();
        integer(pattern, prefix, name);
        if (name == 0) {
            text(field.name());
        }
        text(field.value());
    }

    private void text(AsciiString text) {
        integer(0, 7, text.length());
        System.arraycopy(text.array(), text.arrayOffset(), block, length, text.length());
        length += text.length();
    }

    /** An integer with a prefix of {@code prefix} bits (RFC 7541, 5.1). */
    private void integer(int pattern, int prefix, int value) {
        int max = (1 << prefix) - 1;
        if (value < max) {
            block[length++] = (byte) (pattern | value);
            return;
        }
        block[length++] = (byte) (pattern | max);
        int rest = value - max;
        while (rest >= 0x80) {
            block[length++] = (byte) ((rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        block[length++] = (byte) rest;
    }
}

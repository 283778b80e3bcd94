package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;

/** A header field to send. Immutable. */
public final class HeaderField {
    private final AsciiString name;
    private final CharSequence value;
    private final Indexing indexing;
    private final int staticName;
    private final int staticEntry;
    private final int hash;

    /** Whether the peer may index a field (RFC 7541, 6.2). */
    enum Indexing {
        CONSTANT,
        LITERAL,
        NEVER
    }

    private HeaderField(CharSequence name, CharSequence value, Indexing indexing) {
        FieldName known = FieldName.of(name);
        this.name = known.text();
        this.value = value;
        this.indexing = indexing;
        checkValue();
        this.staticName = known.staticIndex();
        boolean constant = indexing == Indexing.CONSTANT;
        this.staticEntry = constant ? StaticTable.indexOf(this.name, value) : 0;
        this.hash = constant ? 31 * this.name.hashCode() + value.hashCode() : 0;
    }

    /**
     * A field that is the same in many messages: it is added to the dynamic table, so that later blocks only reference
     * it.
     */
    public static HeaderField constant(CharSequence name, CharSequence value) {
        return new HeaderField(name, AsciiString.of(value), Indexing.CONSTANT);
    }

    /** A field with a value specific to this message; not indexed. */
    public static HeaderField of(CharSequence name, CharSequence value) {
        return new HeaderField(name, value, Indexing.LITERAL);
    }

    /** A field that no hop may index, such as a credential (RFC 7541, 7.1.3). */
    public static HeaderField secret(CharSequence name, CharSequence value) {
        return new HeaderField(name, value, Indexing.NEVER);
    }

    AsciiString name() {
        return name;
    }

    CharSequence value() {
        return value;
    }

    Indexing indexing() {
        return indexing;
    }

    /** Maximum encoded length in bytes. */
    int bound() {
        return name.length() + value.length() + 1 + 2 * HeaderEncoder.MAX_INTEGER;
    }

    /** Index of this name in the static table, 0 if absent. */
    int staticName() {
        return staticName;
    }

    /** For a constant: index of this name and value in the static table, 0 if absent. */
    int staticEntry() {
        return staticEntry;
    }

    /** For a constant: a hash consistent with {@link #same}. */
    int hash() {
        return hash;
    }

    /** Whether two constants have the same name and value. */
    boolean same(HeaderField other) {
        return this == other
                || (hash == other.hash && name.equals(other.name) && AsciiString.contentEquals(value, other.value));
    }

    private void checkValue() {
        boolean illegal = value instanceof String text
                ? text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0 || text.indexOf(0) >= 0
                : value.chars().anyMatch(c -> c == 0 || c == '\r' || c == '\n');
        if (illegal) {
            throw new IllegalArgumentException("header field '" + name + "' has NUL, CR or LF in its value");
        }
    }
}

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

    /** Whether the peer is to remember a field (RFC 7541, 6.2). */
    enum Indexing {
        CONSTANT,
        LITERAL,
        NEVER
    }

    private HeaderField(CharSequence name, CharSequence value, Indexing indexing) {
        this.name = AsciiString.of(name);
        this.value = value;
        this.indexing = indexing;
        checkName();
        checkValue();
        this.staticName = StaticTable.indexOf(this.name);
        boolean constant = indexing == Indexing.CONSTANT;
        this.staticEntry = constant ? StaticTable.indexOf(this.name, value) : 0;
        this.hash = constant ? 31 * this.name.hashCode() + value.hashCode() : 0;
    }

    /** A field that is the same in many messages: it enters the peer's table once and takes a byte from then on. */
    public static HeaderField constant(CharSequence name, CharSequence value) {
        return new HeaderField(name, AsciiString.of(value), Indexing.CONSTANT);
    }

    /** A field whose value is this message's own. */
    public static HeaderField of(CharSequence name, CharSequence value) {
        return new HeaderField(name, value, Indexing.LITERAL);
    }

    /** A field that no table of any hop may hold, such as a credential (RFC 7541, 7.1.3). */
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

    /** The most bytes that it takes in a block. */
    int bound() {
        return name.length() + value.length() + 1 + 2 * HeaderEncoder.MAX_INTEGER;
    }

    /** The static table's entry of this name, 0 if there is none. */
    int staticName() {
        return staticName;
    }

    /** Of a constant: the static table's entry of this name and value, 0 if there is none. */
    int staticEntry() {
        return staticEntry;
    }

    /** Of a constant: the same for all that are {@link #same}. */
    int hash() {
        return hash;
    }

    /** Whether two constants say the same. */
    boolean same(HeaderField other) {
        return this == other
                || (hash == other.hash && name.equals(other.name) && AsciiString.contentEquals(value, other.value));
    }

    /** Upper case makes a message malformed (RFC 9113, 8.2). */
    private void checkName() {
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a header field without a name");
        }
        for (int i = 0; i < name.length(); i++) {
            byte b = name.byteAt(i);
            if (b <= ' ' || b == 0x7f || (b >= 'A' && b <= 'Z') || (b == ':' && i > 0)) {
                throw new IllegalArgumentException("header field name '" + name + "' has a character it must not have");
            }
        }
    }

    private void checkValue() {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == 0 || c == '\r' || c == '\n') {
                throw new IllegalArgumentException("header field '" + name + "' has a line end in its value");
            }
        }
    }
}

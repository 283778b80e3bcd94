package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;

/** A header field to send. Immutable. */
public final class Field {
    private final AsciiString name;
    private final CharSequence value;
    private final Indexing indexing;

    /** Whether the peer is to remember a field (RFC 7541, 6.2). */
    enum Indexing {
        INDEXED,
        LITERAL,
        NEVER
    }

    private Field(AsciiString name, CharSequence value, Indexing indexing) {
        this.name = name;
        this.value = value;
        this.indexing = indexing;
    }

    /** A field that is the same in many messages: it enters the peer's table once and takes a byte from then on. */
    public static Field constant(String name, String value) {
        return new Field(AsciiString.of(name), AsciiString.of(value), Indexing.INDEXED);
    }

    /** A field whose value is this message's own. */
    public static Field of(CharSequence name, CharSequence value) {
        return new Field(AsciiString.of(name), value, Indexing.LITERAL);
    }

    /** A field that no table of any hop may hold, such as a credential (RFC 7541, 7.1.3). */
    public static Field secret(CharSequence name, CharSequence value) {
        return new Field(AsciiString.of(name), value, Indexing.NEVER);
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
}

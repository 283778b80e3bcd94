package dev.isthmus.gateway.http2;

import io.netty.util.AsciiString;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A header field to send. Immutable. */
public final class HeaderField {
    private final FieldName name;
    private final AsciiString value;
    private final Indexing indexing;
    private final int staticEntry;
    private final int hash;

    /** Whether the peer may index a field (RFC 7541, 6.2). */
    enum Indexing {
        CONSTANT,
        LITERAL,
        NEVER
    }

    private HeaderField(FieldName name, CharSequence value, Indexing indexing) {
        this.name = name;
        this.value = AsciiString.of(value);
        this.indexing = indexing;
        checkValue();
        boolean constant = indexing == Indexing.CONSTANT;
        this.staticEntry = constant ? StaticTable.indexOf(name.text(), this.value) : 0;
        this.hash = constant ? 31 * name.text().hashCode() + this.value.hashCode() : 0;
    }

    /**
     * A field that is the same in many messages: it is added to the dynamic table, so that later blocks only reference
     * it.
     */
    public static HeaderField constant(CharSequence name, CharSequence value) {
        return new HeaderField(FieldName.of(name), value, Indexing.CONSTANT);
    }

    /** A field with a value specific to this message; not indexed. */
    public static HeaderField of(CharSequence name, CharSequence value) {
        return new HeaderField(FieldName.of(name), value, Indexing.LITERAL);
    }

    /** A field that no hop may index, such as a credential (RFC 7541, 7.1.3). */
    public static HeaderField secret(CharSequence name, CharSequence value) {
        return new HeaderField(FieldName.of(name), value, Indexing.NEVER);
    }

    /** A field of the same name with another value specific to one message; not indexed. */
    public HeaderField withValue(CharSequence other) {
        return new HeaderField(name, other, Indexing.LITERAL);
    }

    AsciiString name() {
        return name.text();
    }

    AsciiString value() {
        return value;
    }

    Indexing indexing() {
        return indexing;
    }

    /** Maximum encoded length in bytes. */
    int bound() {
        return name().length() + value.length() + 1 + 2 * HeaderEncoder.MAX_INTEGER;
    }

    /** Index of this name in the static table, 0 if absent. */
    int staticName() {
        return name.staticIndex();
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
        return this == other || (hash == other.hash && name().equals(other.name()) && value.equals(other.value));
    }

    private void checkValue() {
        byte[] bytes = value.array();
        int end = value.arrayOffset() + value.length();
        for (int i = value.arrayOffset(); i < end; i++) {
            if (bytes[i] == 0 || bytes[i] == '\r' || bytes[i] == '\n') {
                throw new IllegalArgumentException("header field '" + name() + "' has NUL, CR or LF in its value");
            }
        }
    }

    /**
     * The name of a header field to send, checked.
     *
     * @param staticIndex index of the name in the static table, 0 if absent
     */
    private record FieldName(AsciiString text, int staticIndex) {
        /** Names that many messages have with values of their own, and that are not in the static table. */
        private static final Map<String, FieldName> FREQUENT = Arrays.stream(
                        new String[] {"x-request-id", "traceparent", "tracestate", "baggage"})
                .collect(Collectors.toUnmodifiableMap(Function.identity(), FieldName::checked));

        /** @throws IllegalArgumentException for an empty name, or one with an illegal character */
        static FieldName of(CharSequence name) {
            FieldName frequent = name instanceof String text ? FREQUENT.get(text) : null;
            return frequent == null ? checked(name) : frequent;
        }

        private static FieldName checked(CharSequence name) {
            AsciiString text = AsciiString.of(name);
            check(text);
            return new FieldName(text, StaticTable.indexOf(text));
        }

        /** Upper-case letters make a message malformed (RFC 9113, 8.2). */
        private static void check(AsciiString name) {
            if (name.isEmpty()) {
                throw new IllegalArgumentException("a header field name must not be empty");
            }
            for (int i = 0; i < name.length(); i++) {
                byte b = name.byteAt(i);
                if (b <= ' ' || b == 0x7f || (b >= 'A' && b <= 'Z') || (b == ':' && i > 0)) {
                    throw new IllegalArgumentException("header field name '" + name + "' has an illegal character");
                }
            }
        }
    }
}

package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/**
 * Header fields to send, in order, pseudo-header fields first. Immutable: what many messages have in common is made
 * once, what is a message's own is added with {@link #with}.
 */
public final class HeaderFieldList {
    private final @Nullable HeaderFieldList base;
    private final HeaderField[] own;
    private final int bound;

    private HeaderFieldList(@Nullable HeaderFieldList base, HeaderField... own) {
        this.base = base;
        this.own = own;
        int size = base == null ? 0 : base.bound;
        for (HeaderField field : own) {
            size = Math.addExact(size, field.bound());
        }
        this.bound = size;
    }

    public static HeaderFieldList of(HeaderField... fields) {
        return new HeaderFieldList(null, fields.clone());
    }

    /** These fields and, after them, one more. */
    public HeaderFieldList with(HeaderField field) {
        return new HeaderFieldList(this, field);
    }

    /** These fields and, after them, one more whose value is this message's own. */
    public HeaderFieldList with(CharSequence name, CharSequence value) {
        return with(HeaderField.of(name, value));
    }

    @Nullable
    HeaderFieldList base() {
        return base;
    }

    HeaderField[] own() {
        return own;
    }

    /** The most bytes that they take in a block. */
    int bound() {
        return bound;
    }
}

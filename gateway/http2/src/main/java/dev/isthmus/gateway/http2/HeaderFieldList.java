package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/**
 * Header fields to send, in order, pseudo-header fields first. Immutable: fields common to many messages are built
 * once, those of a single message are added with {@link #with}.
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

    /** These fields followed by one more. */
    public HeaderFieldList with(HeaderField field) {
        return new HeaderFieldList(this, field);
    }

    /** These fields followed by one more whose value is specific to this message. */
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

    /** Maximum encoded length in bytes. */
    int bound() {
        return bound;
    }
}

package dev.isthmus.gateway.http2;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Header fields to send, in order, pseudo-header fields first. Immutable: fields common to many messages are built
 * once, those of a single message are added with {@link #with}.
 */
public final class HeaderFieldList {
    private final @Nullable HeaderFieldList base;
    private final HeaderField[] own;
    private final int bound;
    private final boolean constant;

    private HeaderFieldList(@Nullable HeaderFieldList base, HeaderField... own) {
        this.base = base;
        this.own = own;
        int size = base == null ? 0 : base.bound;
        boolean all = base == null && own.length > 0;
        for (HeaderField field : own) {
            size = Math.addExact(size, field.bound());
            all &= field.indexing() == HeaderField.Indexing.CONSTANT;
        }
        this.bound = size;
        this.constant = all;
    }

    /** A list to be kept for many messages. */
    public static HeaderFieldList of(HeaderField... fields) {
        return new HeaderFieldList(null, fields.clone());
    }

    /** The fields of a list that is kept for many messages followed by one more, in another such list. */
    public HeaderFieldList and(HeaderField field) {
        HeaderField[] all = Arrays.copyOf(own, own.length + 1);
        all[own.length] = field;
        return new HeaderFieldList(null, all);
    }

    /** These fields followed by one more, for one message. */
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

    /** Whether it is kept for many messages, and all fields are the same in each. */
    boolean isConstant() {
        return constant;
    }

    /** Maximum encoded length in bytes. */
    int bound() {
        return bound;
    }
}

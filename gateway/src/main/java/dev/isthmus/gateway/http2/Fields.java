package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/**
 * Header fields to send, in order, pseudo-header fields first. Immutable: what many messages have in common is made
 * once, what is a message's own is added with {@link #with}.
 */
public final class Fields {
    private final @Nullable Fields base;
    private final Field[] own;
    private final int bound;

    private Fields(@Nullable Fields base, Field... own) {
        this.base = base;
        this.own = own;
        int size = base == null ? 0 : base.bound;
        for (Field field : own) {
            size = Math.addExact(size, field.bound());
        }
        this.bound = size;
    }

    public static Fields of(Field... fields) {
        return new Fields(null, fields.clone());
    }

    /** These fields and, after them, one more. */
    public Fields with(Field field) {
        return new Fields(this, field);
    }

    /** These fields and, after them, one more whose value is this message's own. */
    public Fields with(CharSequence name, CharSequence value) {
        return with(Field.of(name, value));
    }

    @Nullable
    Fields base() {
        return base;
    }

    Field[] own() {
        return own;
    }

    /** The most bytes that they take in a block. */
    int bound() {
        return bound;
    }
}

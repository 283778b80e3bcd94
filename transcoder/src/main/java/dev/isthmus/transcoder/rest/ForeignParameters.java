package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.json.SkippedValue;
import dev.isthmus.transcoder.json.ValueReader;
import org.jspecify.annotations.Nullable;

/**
 * Whether parameters of a type that the protocol does not define are accepted, the name of one, whether the message has
 * NaN or an infinity outside the data of tensors, and whether it has null for an optional member.
 */
final class ForeignParameters {
    private final boolean allowed;
    private @Nullable String name;
    private boolean word;
    private boolean nulls;

    ForeignParameters(boolean allowed) {
        this.allowed = allowed;
    }

    boolean allowed() {
        return allowed;
    }

    /** Whether this parameter is accepted. */
    boolean accepts(String parameter) {
        if (allowed) {
            name = parameter;
        }
        return allowed;
    }

    /** NaN or an infinity was read. */
    void word() {
        word = true;
    }

    /** The value read (null for none) may have contained such a word. */
    void skipped(@Nullable ValueReader value) {
        if (value instanceof SkippedValue read) {
            word |= read.hasWord();
        }
    }

    boolean hasWord() {
        return word;
    }

    /** A member was null, which is as good as absent. */
    void absent() {
        nulls = true;
    }

    boolean hasNull() {
        return nulls;
    }

    /** The last such parameter accepted, or null. */
    @Nullable
    String name() {
        return name;
    }
}

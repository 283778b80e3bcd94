package dev.isthmus.transcoder.rest;

import org.jspecify.annotations.Nullable;

/** Parameters of a kind that the protocol does not have: whether they are taken, and one that was. */
final class ForeignParameters {
    private final boolean allowed;
    private @Nullable String name;

    ForeignParameters(boolean allowed) {
        this.allowed = allowed;
    }

    boolean allowed() {
        return allowed;
    }

    /** Whether this one is taken. */
    boolean accepts(String parameter) {
        if (allowed) {
            name = parameter;
        }
        return allowed;
    }

    /** A parameter that was taken, or null. */
    @Nullable
    String name() {
        return name;
    }
}

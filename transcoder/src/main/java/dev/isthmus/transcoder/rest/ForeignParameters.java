package dev.isthmus.transcoder.rest;

import org.jspecify.annotations.Nullable;

/** Whether parameters of a type that the protocol does not define are accepted, and the name of one. */
final class ForeignParameters {
    private final boolean allowed;
    private @Nullable String name;

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

    /** The last such parameter accepted, or null. */
    @Nullable
    String name() {
        return name;
    }
}

package dev.isthmus.gateway.catalogue;

import java.util.Locale;

/** The state of a model in a repository index, from the least to the most advanced. */
public enum ModelState {
    /** Nothing is loaded: Triton gives no state for a model that it only has in its repository. */
    NONE,
    /** Not known, or not a state of the protocol. */
    UNKNOWN,
    UNAVAILABLE,
    UNLOADING,
    LOADING,
    READY;

    /** Reads a server's text; MLServer writes the name of its enum's class in front over gRPC. */
    public static ModelState of(String text) {
        return switch (text.substring(text.lastIndexOf('.') + 1).toUpperCase(Locale.ROOT)) {
            case "" -> NONE;
            case "READY" -> READY;
            case "LOADING" -> LOADING;
            case "UNLOADING" -> UNLOADING;
            case "UNAVAILABLE" -> UNAVAILABLE;
            default -> UNKNOWN;
        };
    }

    /** As the protocol has it: empty for {@link #NONE}. */
    public String text() {
        return this == NONE ? "" : name();
    }
}

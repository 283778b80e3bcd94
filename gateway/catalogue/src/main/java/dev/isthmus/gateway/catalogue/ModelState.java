package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** The state of a model in a repository index, from the least to the most advanced. */
public enum ModelState {
    /** Nothing is loaded: Triton reports no state for such a model. */
    NONE,
    /** Unknown, or not a state of the protocol. */
    UNKNOWN,
    UNAVAILABLE,
    UNLOADING,
    LOADING,
    READY;

    /** Parses a server's state; over gRPC MLServer prefixes it with the name of an enum class. */
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

    /** The protocol's name; empty for {@link #NONE}. */
    @JsonValue
    public String text() {
        return this == NONE ? "" : name();
    }
}

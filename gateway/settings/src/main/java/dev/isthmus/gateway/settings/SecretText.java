package dev.isthmus.gateway.settings;

import com.fasterxml.jackson.annotation.JsonValue;

/** A text that is not shown where a configuration is shown. */
public record SecretText(String value) {

    /** What stands in its place. */
    @JsonValue
    @Override
    public String toString() {
        return "(hidden)";
    }
}

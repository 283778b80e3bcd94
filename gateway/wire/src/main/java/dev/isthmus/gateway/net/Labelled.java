package dev.isthmus.gateway.net;

import java.util.Locale;

/** A constant whose label in logs, metrics and documents is its name in lower case. */
public interface Labelled {
    String name();

    default String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}

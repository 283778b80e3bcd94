package dev.isthmus.gateway.settings;

/** Who decides which models are loaded. */
public enum ModelControl {
    NONE,
    EXPLICIT
}

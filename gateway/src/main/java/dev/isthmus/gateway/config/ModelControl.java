package dev.isthmus.gateway.config;

/** Who decides which models are loaded. */
public enum ModelControl {
    NONE,
    EXPLICIT
}

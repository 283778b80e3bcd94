package dev.isthmus.gateway.settings;

/** Whether models are loaded at start or by clients' requests, as Triton's option of that name. */
public enum ModelControl {
    NONE,
    EXPLICIT
}

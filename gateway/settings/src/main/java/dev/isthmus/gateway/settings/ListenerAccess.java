package dev.isthmus.gateway.settings;

/** Who may send requests to a listener. */
public enum ListenerAccess {
    /** Everybody who can reach it. */
    OPEN
}

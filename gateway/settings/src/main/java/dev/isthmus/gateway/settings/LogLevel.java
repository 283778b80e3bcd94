package dev.isthmus.gateway.settings;

/** The least severity of log lines that are written. */
public enum LogLevel {
    ERROR,
    WARN,
    INFO,
    DEBUG
}

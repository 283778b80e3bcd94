package dev.isthmus.gateway.settings;

import java.util.List;
import java.util.Locale;

/** The gateway's own layers, the outermost first; most are there only if they are configured. */
public enum BuiltInLayer {
    REQUEST_IDS,
    GENERATION,
    TIMELINES,
    LIVE_CALLS,
    SERVER_ERRORS,
    AUDIT,
    ACCESS_LOG,
    CALLER_METRICS,
    CALL_METRICS,
    TRACING,
    ERROR_TEXTS,
    AUTHENTICATION,
    AUTHORIZATION,
    PAYLOAD_LOG,
    ADMISSION,
    ROUTING,
    RATE_LIMITS,
    TARGET_METRICS,
    RAMPS,
    /** A place for added layers: shadows are no layer. */
    SHADOWS,
    VALIDATION,
    CACHE_PURGE;

    private static final List<BuiltInLayer> ALL = List.of(values());

    /** Its place in the order of all, the outermost first. */
    int place() {
        return ALL.indexOf(this);
    }

    /** Its name. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The layer of this name. */
    static BuiltInLayer named(String name) {
        return valueOf(name.toUpperCase(Locale.ROOT));
    }
}

package dev.isthmus.gateway.settings;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A part of the gateway whose log level can be set. Operators know its name, not the Java packages behind it. */
public enum LogArea {
    /** API keys, tokens, rules. */
    ACCESS("dev.isthmus.gateway.identity", "dev.isthmus.gateway.access"),
    /** The admin address. */
    ADMIN("dev.isthmus.gateway.admin"),
    /** What operators and callers change. */
    AUDIT("dev.isthmus.gateway.audit"),
    /** Requests from their head to their end. */
    CALLS(
            "dev.isthmus.gateway.call",
            "dev.isthmus.gateway.dispatch",
            "dev.isthmus.gateway.routing",
            "dev.isthmus.gateway.limit",
            "dev.isthmus.gateway.memory",
            "dev.isthmus.gateway.metrics",
            "dev.isthmus.gateway.accesslog",
            "dev.isthmus.gateway.payloadlog",
            "dev.isthmus.gateway.tracing"),
    /** Metadata and indexes of the servers. */
    CATALOGUE("dev.isthmus.gateway.catalogue", "dev.isthmus.gateway.management"),
    /** Connections of clients. */
    CLIENTS("dev.isthmus.gateway.ingress", "dev.isthmus.gateway.http2", "dev.isthmus.gateway.net"),
    /** Servers: health, load balancing, DNS, connections to them. */
    FLEET("dev.isthmus.gateway.fleet", "dev.isthmus.gateway.upstream"),
    /** Start, reload, end, and all that has no area of its own. */
    GATEWAY("dev.isthmus"),
    /** Libraries that the gateway uses. */
    LIBRARIES(""),
    /** Models that the gateway runs itself. */
    LOCAL("dev.isthmus.local"),
    RAMPS("dev.isthmus.gateway.ramp"),
    SHADOWS("dev.isthmus.gateway.shadow"),
    /** Certificates and handshakes. */
    TLS("dev.isthmus.gateway.tls");

    @SuppressWarnings("ImmutableEnumChecker") // List.of
    private final List<String> prefixes;

    LogArea(String... prefixes) {
        this.prefixes = List.of(prefixes);
    }

    /** The name in the configuration and in log lines. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The packages whose loggers belong to it, with those below; empty text for all that belong to no other area. */
    public List<String> prefixes() {
        return prefixes;
    }

    /** The area with this name; null if there is none. */
    public static @Nullable LogArea named(String label) {
        return Arrays.stream(values())
                .filter(area -> area.label().equals(label))
                .findFirst()
                .orElse(null);
    }

    /** All areas but the libraries. */
    public static List<LogArea> own() {
        return Arrays.stream(values()).filter(area -> area != LIBRARIES).toList();
    }

    /** The names of all areas, for messages. */
    public static String labels() {
        return Arrays.stream(values()).map(LogArea::label).collect(Collectors.joining(", "));
    }

    public static LogArea of(String logger) {
        LogArea best = LIBRARIES;
        int length = 0;
        for (LogArea area : values()) {
            for (String prefix : area.prefixes) {
                boolean below = logger.startsWith(prefix)
                        && (logger.length() == prefix.length() || logger.charAt(prefix.length()) == '.');
                if (below && prefix.length() > length) {
                    best = area;
                    length = prefix.length();
                }
            }
        }
        return best;
    }
}

package dev.isthmus.gateway.settings;

import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * An allow-list of header names. Hop-by-hop headers, headers that describe the body and gRPC's own headers are never
 * allowed.
 *
 * @param exact lower-case names
 * @param prefixes lower-case prefixes of names
 */
public record HeaderAllowList(Set<String> exact, List<String> prefixes) {
    /** Length of the JSON part of a body in bytes (binary tensor data extension). */
    public static final AsciiString JSON_LENGTH = AsciiString.cached("inference-header-content-length");

    /** Timeout of an HTTP call in milliseconds, set by a client or the gateway. */
    public static final AsciiString TIMEOUT = AsciiString.cached("x-request-timeout-ms");

    /** Number of gateways that a call has passed through. */
    public static final String HOPS = "isthmus-hops";

    private static final Set<String> NEVER = Set.of(
            "accept",
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            HOPS,
            JSON_LENGTH.toString(),
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            // Triton 2.51 crashes after streams with this header.
            "triton_grpc_error",
            "upgrade",
            "user-agent",
            TIMEOUT.toString());

    public HeaderAllowList {
        exact = Set.copyOf(exact);
        prefixes = List.copyOf(prefixes);
    }

    /**
     * Parses names; one that ends in {@code *} is a prefix.
     *
     * @throws IllegalArgumentException for a header that is never forwarded
     */
    public static HeaderAllowList of(List<String> patterns) {
        Set<String> exact = new TreeSet<>();
        List<String> prefixes = new ArrayList<>();
        for (String pattern : patterns) {
            String name = pattern.toLowerCase(Locale.ROOT);
            if (name.endsWith("*")) {
                prefixes.add(name.substring(0, name.length() - 1));
            } else if (forbidden(name)) {
                throw new IllegalArgumentException("header '" + pattern + "' is never forwarded");
            } else {
                exact.add(name);
            }
        }
        return new HeaderAllowList(exact, prefixes);
    }

    private static boolean forbidden(String name) {
        return name.isEmpty() || NEVER.contains(name) || name.startsWith("grpc-") || name.startsWith(":");
    }

    /** Whether no header is forwarded. */
    public boolean isEmpty() {
        return exact.isEmpty() && prefixes.isEmpty();
    }

    /** Whether the header of this lower-case name is forwarded. */
    public boolean contains(String name) {
        if (exact.contains(name)) {
            return true;
        }
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return !forbidden(name);
            }
        }
        return false;
    }
}

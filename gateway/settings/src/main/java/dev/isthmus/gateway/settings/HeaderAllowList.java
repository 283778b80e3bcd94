package dev.isthmus.gateway.settings;

import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * An allow-list of header names; never of hop-by-hop headers, those that describe the body, and gRPC's own.
 *
 * @param exact lower-case names
 * @param prefixes lower-case prefixes of names
 * @param except names that are not allowed, whatever the others say, {@linkplain #asRead as servers may read them}
 */
public record HeaderAllowList(Set<String> exact, List<String> prefixes, Set<String> except) {
    /** Length of the JSON part of a body in bytes (binary tensor data extension). */
    public static final AsciiString JSON_LENGTH = AsciiString.cached("inference-header-content-length");

    /** Timeout of an HTTP call in milliseconds, set by a client or the gateway. */
    public static final AsciiString TIMEOUT = AsciiString.cached("x-request-timeout-ms");

    /** The id of a call: the client's, or made by the gateway. */
    public static final String REQUEST_ID = "x-request-id";
    /** Number of gateways that a call has passed through. */
    public static final String HOPS = "isthmus-hops";
    /** Name of the authenticated caller, set by the gateway. */
    public static final String PRINCIPAL = "x-isthmus-principal";

    /** Of gRPC's metadata with binary values. */
    private static final String BINARY_SUFFIX = "-bin";

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
            PRINCIPAL,
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

    /** Headers that may be forwarded in this spelling only, as the gateway sets them. */
    private static final Set<String> ONE_SPELLING = Set.of("forwarded", "x-real-ip", REQUEST_ID);

    /** Headers that belong to a call, not to the gateway. */
    private static final Set<String> OF_CALLS = Set.of("baggage", "traceparent", "tracestate");

    private static final Pattern METADATA_NAME = Pattern.compile("[a-z0-9_.-]+");

    private static final String FORWARDED_PREFIX = "x-forwarded-";

    public HeaderAllowList {
        exact = Set.copyOf(exact);
        prefixes = List.copyOf(prefixes);
        except = Set.copyOf(except);
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
        return new HeaderAllowList(exact, prefixes, Set.of());
    }

    /** The same list with these lower-case names, too. */
    public HeaderAllowList with(Set<String> names) {
        Set<String> all = new TreeSet<>(exact);
        all.addAll(names);
        return new HeaderAllowList(all, prefixes, except);
    }

    /** The same list without these lower-case names, in any spelling that a server may read as one of them. */
    public HeaderAllowList without(Set<String> names) {
        List<String> read = names.stream().map(HeaderAllowList::asRead).toList();
        return new HeaderAllowList(exact, prefixes, Set.copyOf(read));
    }

    /** Whether a header of this lower-case name is never forwarded. */
    static boolean forbidden(String name) {
        if (name.isEmpty() || NEVER.contains(name) || name.startsWith("grpc-") || name.startsWith(":")) {
            return true;
        }
        String read = asRead(name);
        return !read.equals(name)
                && (forbidden(read) || ONE_SPELLING.contains(read) || read.startsWith(FORWARDED_PREFIX));
    }

    /** Whether the gateway may send a header of this lower-case name of its own accord, over REST and gRPC. */
    static boolean isForGateway(String name) {
        String read = asRead(name);
        return METADATA_NAME.matcher(name).matches()
                && !name.endsWith(BINARY_SUFFIX)
                && !forbidden(name)
                && !ONE_SPELLING.contains(read)
                && !OF_CALLS.contains(read)
                && !read.startsWith(FORWARDED_PREFIX);
    }

    /**
     * The name that a server may read: WSGI and CGI turn every character but letters and digits into one, and gRPC adds
     * a suffix to those of binary values.
     */
    public static String asRead(String name) {
        String plain = name.endsWith(BINARY_SUFFIX) ? name.substring(0, name.length() - BINARY_SUFFIX.length()) : name;
        StringBuilder read = null;
        for (int i = 0; i < plain.length(); i++) {
            char c = plain.charAt(i);
            if (c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9')) {
                read = read == null ? new StringBuilder(plain) : read;
                read.setCharAt(i, '-');
            }
        }
        return read == null ? plain : read.toString();
    }

    /** Whether no header is forwarded. */
    public boolean isEmpty() {
        return exact.isEmpty() && prefixes.isEmpty();
    }

    /** Whether the header of this lower-case name is forwarded. */
    public boolean contains(String name) {
        if (!except.isEmpty() && except.contains(asRead(name))) {
            return false;
        }
        if (exact.contains(name)) {
            return true;
        }
        for (int i = 0; i < prefixes.size(); i++) {
            if (name.startsWith(prefixes.get(i))) {
                return !forbidden(name);
            }
        }
        return false;
    }
}

package dev.isthmus.gateway.net;

import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The target of an HTTP/1.1 request in absolute form (RFC 9112, 3.2.2), as clients send it to proxies.
 *
 * @param scheme {@code http} or {@code https}
 * @param authority host and port
 * @param path including the query
 */
public record RequestTarget(String scheme, String authority, String path) {
    private static final String SCHEME_END = "://";
    /** What a host may have besides letters and digits (RFC 3986, 3.2.2). */
    private static final String IN_HOST = "-._~%!$&'()*+,;=";

    /** Parses a target; null if it is not in absolute form. */
    public static @Nullable RequestTarget absolute(String target) {
        if (target.startsWith("/")) {
            return null;
        }
        int colon = target.indexOf(SCHEME_END);
        String scheme = colon < 0 ? "" : target.substring(0, colon).toLowerCase(Locale.ROOT);
        if (!scheme.equals("http") && !scheme.equals("https")) {
            return null;
        }
        int from = colon + SCHEME_END.length();
        int end = from;
        while (end < target.length() && "/?#".indexOf(target.charAt(end)) < 0) {
            end++;
        }
        String path = target.substring(end);
        return new RequestTarget(scheme, target.substring(from, end), path.startsWith("/") ? path : "/" + path);
    }

    /**
     * The error if a request does not name exactly one server (RFC 9112, 3.2); null if it does.
     *
     * @param uri of the request line
     * @param http10 whether its version is HTTP/1.0, which knows requests without a host
     * @param hosts the values of its Host headers
     */
    public static @Nullable OipException refusal(String uri, boolean http10, List<String> hosts) {
        if (hosts.size() > 1 || (hosts.isEmpty() && !http10)) {
            return OipException.invalid("one Host header is expected, got " + hosts.size());
        }
        String host = hosts.isEmpty() ? null : hosts.getFirst();
        if (host != null && !isAuthority(host)) {
            return notAnAuthority("header Host", host);
        }
        RequestTarget target = absolute(uri);
        if (target == null || target.matchesHost(host)) {
            return null;
        }
        return OipException.invalid(
                "header Host: '" + target.authority() + "' is expected as in the target, got '" + host + "'");
    }

    public static OipException notAnAuthority(String what, String authority) {
        return OipException.invalid(what + ": a host, with or without a port, is expected, got '" + authority + "'");
    }

    /** Whether this is empty, or a host with or without a port (RFC 3986, 3.2.2 and 3.2.3); no user information. */
    public static boolean isAuthority(String authority) {
        int literal = authority.startsWith("[") ? authority.indexOf(']') : 0;
        if (literal < 0) {
            return false;
        }
        int colon = authority.indexOf(':', literal);
        int end = colon < 0 ? authority.length() : colon;
        for (int i = literal > 0 ? 1 : 0; i < (literal > 0 ? literal : end); i++) {
            char c = authority.charAt(i);
            if (!isAlphanumeric(c) && IN_HOST.indexOf(c) < 0 && (literal == 0 || c != ':')) {
                return false;
            }
        }
        boolean closed = literal == 0 || literal + 1 == end;
        return closed && isDigits(authority, end + 1);
    }

    private static boolean isDigits(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return true;
    }

    private static boolean isAlphanumeric(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }

    /** Whether the Host header, null if absent, names the same server. User information is never accepted. */
    private boolean matchesHost(@Nullable String host) {
        boolean plain = !authority.isEmpty() && authority.indexOf('@') < 0;
        return plain && (host == null || same(scheme, authority, host));
    }

    /** Whether two authorities are equal (RFC 9110, 4.2.3): hosts ignoring case, ports after the scheme's default. */
    public static boolean same(String scheme, String one, String other) {
        return one.equals(other) || normal(scheme, one).equals(normal(scheme, other));
    }

    private static String normal(String scheme, String authority) {
        String port = scheme.equals("https") ? ":443" : ":80";
        String lower = authority.toLowerCase(Locale.ROOT);
        int length = lower.length();
        if (lower.endsWith(port)) {
            length -= port.length();
        } else if (lower.endsWith(":")) {
            length--;
        }
        return lower.substring(0, length);
    }
}

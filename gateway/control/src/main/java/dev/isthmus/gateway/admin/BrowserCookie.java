package dev.isthmus.gateway.admin;

import org.jspecify.annotations.Nullable;

/** Cookies of the console (RFC 6265). Browsers send them to all ports of a host, which may be several gateways: so names have the port. */
final class BrowserCookie {
    private BrowserCookie() {}

    /** The value of a request's cookie; null if it has none. */
    static @Nullable String get(String name, AdminRequest request) {
        String prefix = atPort(name, request) + "=";
        for (String each : request.header().apply("cookie").split(";", -1)) {
            String pair = each.strip();
            if (pair.startsWith(prefix)) {
                return pair.substring(prefix.length());
            }
        }
        return null;
    }

    /**
     * The value of {@code Set-Cookie}.
     *
     * @param seconds until it ends; 0 removes it
     * @param sameSite Strict or Lax
     */
    static String set(String name, AdminRequest request, String value, long seconds, String path, String sameSite) {
        return atPort(name, request) + "=" + value + "; Path=" + path + "; Max-Age=" + seconds + "; HttpOnly; SameSite="
                + sameSite + (request.secure() ? "; Secure" : "");
    }

    private static String atPort(String name, AdminRequest request) {
        String host = request.header().apply("host");
        String port = host.substring(host.lastIndexOf(':') + 1);
        return port.matches("[0-9]{1,5}") ? name + "-" + port : name;
    }
}

package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Rejects requests that a foreign web page may have made an operator's browser send. */
record AdminAccess(AdminHosts hosts) {
    private static final String FETCH_SITE = "sec-fetch-site";
    private static final String FETCH_MODE = "sec-fetch-mode";
    private static final List<String> SCHEMES = List.of("http", "https");
    private static final int MISDIRECTED = 421;

    /** The error response if the request is rejected; null if it is accepted. */
    @Nullable
    AdminResponse refusal(HttpRequest request) {
        OipException malformed = RequestTarget.refusal(
                request.uri(),
                request.protocolVersion().equals(HttpVersion.HTTP_1_0),
                request.headers().getAll(HttpHeaderNames.HOST));
        if (malformed != null) {
            return AdminResponse.error(malformed.code().httpStatus(), malformed.message());
        }
        RequestTarget target = RequestTarget.absolute(request.uri());
        String host = target == null ? request.headers().get(HttpHeaderNames.HOST) : target.authority();
        // Only HTTP/1.0 may omit Host, and no browser does.
        if (host != null && !hosts.accepts(host)) {
            return AdminResponse.error(
                    MISDIRECTED,
                    "header Host: " + hosts.expected() + " is expected, got '" + host
                            + "'; add it to admin.allowed_hosts if it is a name of this gateway");
        }
        for (String origin : request.headers().getAll(HttpHeaderNames.ORIGIN)) {
            if (host == null || !same(origin, host)) {
                return AdminResponse.error(
                        403,
                        "header Origin: requests from other sites are rejected, got '" + origin + "' for the host '"
                                + host + "'");
            }
        }
        String site = request.headers().get(FETCH_SITE);
        return site == null || !site.equalsIgnoreCase("cross-site") || followsLink(request)
                ? null
                : AdminResponse.error(
                        403, "header Sec-Fetch-Site: requests from other sites are rejected, got '" + site + "'");
    }

    /**
     * Other sites may link to the console; its page has no data, and no other page may frame it. A provider sends a
     * browser back that has logged in.
     */
    private static boolean followsLink(HttpRequest request) {
        return request.method().equals(HttpMethod.GET)
                && (request.uri().equals("/") || request.uri().startsWith(OidcConfig.CALLBACK + "?"))
                && "navigate".equalsIgnoreCase(request.headers().get(FETCH_MODE));
    }

    /** Whether a page of this origin was served from this address, possibly through a TLS-terminating proxy. */
    private static boolean same(String origin, String host) {
        String lower = origin.toLowerCase(Locale.ROOT);
        for (String scheme : SCHEMES) {
            String prefix = scheme + "://";
            if (lower.startsWith(prefix) && RequestTarget.same(scheme, lower.substring(prefix.length()), host)) {
                return true;
            }
        }
        return false;
    }

    /**
     * The hosts that a request may name. A page in an operator's browser can resolve its own name to the admin address (DNS
     * rebinding) to read responses; its requests still carry that name.
     *
     * @param loopback whether the listener's address is loopback; only loopback addresses are accepted then
     */
    record AdminHosts(AdminConfig config, boolean loopback) {
        private static final String ANY = "*";

        /** @param authority a host, optionally with any port */
        boolean accepts(String authority) {
            if (config.allowedHosts().contains(ANY)) {
                return true;
            }
            String host = host(authority);
            if (host == null) {
                return false;
            }
            InetAddress literal = address(host);
            return literal == null ? acceptsName(host) : acceptsAddress(literal);
        }

        private boolean acceptsName(String name) {
            return name.equals("localhost")
                    || name.equals(normal(config.host()))
                    || config.allowedHosts().stream().anyMatch(allowed -> matches(normal(allowed), name));
        }

        private boolean acceptsAddress(InetAddress address) {
            return !loopback
                    || address.isLoopbackAddress()
                    || address.equals(address(config.host()))
                    || config.allowedHosts().stream().anyMatch(allowed -> address.equals(address(allowed)));
        }

        private static boolean matches(String allowed, String name) {
            return allowed.startsWith("*.") ? name.endsWith(allowed.substring(1)) : name.equals(allowed);
        }

        /** The accepted hosts, for error messages. */
        String expected() {
            String addresses = loopback ? "a loopback address" : "an IP address";
            String named = address(config.host()) == null ? ", '" + config.host() + "'" : "";
            return "localhost, " + addresses + named + " or a host of admin.allowed_hosts";
        }

        /** The host of an authority in lower case without a trailing dot; null if it is malformed. */
        private static @Nullable String host(String authority) {
            if (!RequestTarget.isAuthority(authority)) {
                return null;
            }
            int colon = authority.indexOf(':');
            return authority.startsWith("[")
                    ? authority.substring(1, authority.indexOf(']'))
                    : normal(colon < 0 ? authority : authority.substring(0, colon));
        }

        private static String normal(String name) {
            String lower = name.toLowerCase(Locale.ROOT);
            return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
        }

        /** The address of an IP literal; null for anything else. Never queries DNS. */
        private static @Nullable InetAddress address(String host) {
            byte[] bytes = NetUtil.createByteArrayFromIpAddressString(host);
            try {
                return bytes == null ? null : InetAddress.getByAddress(bytes);
            } catch (UnknownHostException never) {
                return null;
            }
        }
    }
}

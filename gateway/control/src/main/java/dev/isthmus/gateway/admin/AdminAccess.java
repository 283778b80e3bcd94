package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
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
}

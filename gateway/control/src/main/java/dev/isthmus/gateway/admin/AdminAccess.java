package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Which requests are looked at: those that no foreign page has made an operator's browser send. */
record AdminAccess(AdminHosts hosts) {
    private static final String FETCH_SITE = "sec-fetch-site";
    private static final List<String> SCHEMES = List.of("http", "https");
    private static final int MISDIRECTED = 421;

    /** Why a request is refused; null where it is not. */
    @Nullable
    AdminResponse refusal(HttpRequest request) {
        OipException malformed = RequestTarget.refusal(request);
        if (malformed != null) {
            return AdminResponse.error(malformed.code().httpStatus(), malformed.message());
        }
        RequestTarget target = RequestTarget.absolute(request.uri());
        String host = target == null ? request.headers().get(HttpHeaderNames.HOST) : target.authority();
        // No browser leaves the host out, which only HTTP/1.0 may.
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
                        "header Origin: requests of other sites are refused, got '" + origin + "' for the host '" + host
                                + "'");
            }
        }
        String site = request.headers().get(FETCH_SITE);
        return site == null || !site.equalsIgnoreCase("cross-site")
                ? null
                : AdminResponse.error(
                        403, "header Sec-Fetch-Site: requests of other sites are refused, got '" + site + "'");
    }

    /** Whether a page of this origin has this address itself, be it behind something that speaks TLS for it. */
    private static boolean same(String origin, String host) {
        String lower = origin.toLowerCase(Locale.ROOT);
        for (String scheme : SCHEMES) {
            String beginning = scheme + "://";
            if (lower.startsWith(beginning) && RequestTarget.same(scheme, lower.substring(beginning.length()), host)) {
                return true;
            }
        }
        return false;
    }
}

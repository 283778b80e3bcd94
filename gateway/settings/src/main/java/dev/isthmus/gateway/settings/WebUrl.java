package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import org.jspecify.annotations.Nullable;

/** URLs of HTTP servers. */
public final class WebUrl {
    private WebUrl() {}

    /** An http or https URL with a host and without credentials; null for any other text. */
    static @Nullable URI of(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            return http && url.getHost() != null && url.getRawUserInfo() == null ? url : null;
        } catch (URISyntaxException e) {
            return null;
        }
    }

    /** Whether its server can be trusted to be the named one: https, or http on loopback. */
    public static boolean isSecure(String text) {
        URI url = of(text);
        return url != null
                && (url.getScheme().equals("https") || isLoopback(url.getHost().replaceAll("[\\[\\]]", "")));
    }

    /** Whether a host is this machine itself. */
    static boolean isLoopback(String host) {
        InetAddress address = NetUtil.createInetAddressFromIpAddressString(host);
        return address == null ? host.equals("localhost") : address.isLoopbackAddress();
    }
}

package dev.isthmus.gateway.settings;

import java.net.URI;
import java.net.URISyntaxException;

/** URLs whose server can be trusted to be the named one. */
public final class SecureUrl {
    private SecureUrl() {}

    /** Whether it is one of https, or of http on loopback, without credentials. */
    public static boolean isSecure(String url) {
        try {
            URI uri = new URI(url);
            String host = uri.getHost();
            return host != null
                    && uri.getUserInfo() == null
                    && ("https".equals(uri.getScheme())
                            || ("http".equals(uri.getScheme())
                                    && ConfigChecks.isLoopback(host.replaceAll("[\\[\\]]", ""))));
        } catch (URISyntaxException e) {
            return false;
        }
    }
}

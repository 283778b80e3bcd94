package dev.isthmus.gateway.settings;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The Redis server that gateways share their rate limits and ramps in. */
@Doc("Rate limits and ramps shared with other gateways, in Redis. A URL alone is short for 'url'.")
@ShortForm("url")
public record SharedConfig(
        @Doc("URL of the server: redis://HOST:PORT/DATABASE, or rediss:// for TLS. Default port: 6379; default "
                + "database: 0.")
        @Required
        String url,

        @Doc("Name of the user. Default: Redis' own, 'default'.") @Nullable
        String user,

        @Doc("File with the password. Read for each connection. It must not be readable or writable by others, nor "
                + "writable by its group.")
        @Nullable
        Path passwordFile,

        @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                + "trusts. Needs rediss://.")
        @Nullable
        Path ca,

        @Doc("Time for an answer of the server, at most 10s. A call that needs one waits no longer.") @Default("250ms")
        Duration timeout,

        @Doc("How calls are counted while the server does not answer in time. local: by each gateway alone. open: not "
                + "at all. closed: calls with a limit are refused with 503.")
        @Default("local")
        FailureMode onFailure,

        @Doc("Start of all keys in the database. Gateways with the same prefix share.") @Default("isthmus:")
        String prefix) {
    public static final SharedConfig DEFAULT = DefaultValues.of(SharedConfig.class);

    private static final int REDIS_PORT = 6379;

    /** How calls are counted while the server does not answer. */
    public enum FailureMode {
        LOCAL,
        OPEN,
        CLOSED
    }

    /** Host of the server, an IPv6 address without brackets. */
    public String host() {
        return URI.create(url).getHost().replaceAll("[\\[\\]]", "");
    }

    /** Port of the server. */
    public int port() {
        int port = URI.create(url).getPort();
        return port < 0 ? REDIS_PORT : port;
    }

    /** Number of the database. */
    public int database() {
        String path = URI.create(url).getPath();
        return path.length() < 2 ? 0 : Integer.parseInt(path.substring(1));
    }

    /** Whether the connection is encrypted. */
    public boolean secure() {
        return url.startsWith("rediss:");
    }
}

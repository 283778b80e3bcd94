package dev.isthmus.gateway.settings;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The Redis servers that gateways share their rate limits and ramps in. */
@Doc("Rate limits and ramps shared with other gateways, in Redis. A URL alone is short for 'url'.")
@ShortForm("url")
public record SharedConfig(
        @Doc("URL of one server: redis://HOST:PORT/DATABASE, or rediss:// for TLS. Default port: 6379; default "
                + "database: 0. Either it, 'sentinel' or 'cluster' is required.")
        @Nullable
        String url,

        @Nullable SentinelConfig sentinel,

        @Doc("host:port of some nodes of a Redis Cluster, which name the others. Default: no cluster.")
        List<Endpoint> cluster,

        @Doc("Whether connections are encrypted with 'sentinel' and 'cluster'. With 'url', rediss:// says so.")
        boolean tls,

        @Doc("Name of the user. Default: Redis' own, 'default'.") @Nullable
        String user,

        @Doc("File with the password. Read for each connection. It must not be readable or writable by others, nor "
                + "writable by its group.")
        @Nullable
        Path passwordFile,

        @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                + "trusts. Needs rediss:// or 'tls'.")
        @Nullable
        Path ca,

        @Doc("PEM file with the gateway's own certificate, for servers and sentinels that ask for one. Read for each "
                + "connection. Needs 'key', and rediss:// or 'tls'.")
        @Nullable
        Path certificate,

        @Doc("PEM file with its key; as the key of a listener. Read for each connection.") @Nullable
        Path key,

        @Doc("Time for an answer of the server, at most 10s. A call that needs one waits no longer.") @Default("250ms")
        Duration timeout,

        @Doc("Time for which all answers must be in time before limits and ramps are shared again, at most 1m. It "
                + "doubles, up to a minute, each time that the server is lost within a minute.")
        @Default("5s")
        Duration recovery,

        @Doc("How calls are counted while the server does not answer in time. local: by each gateway alone. open: not "
                + "at all. closed: calls with a limit are refused with 503.")
        @Default("local")
        FailureMode onFailure,

        @Doc("Start of all keys in the database. Gateways with the same prefix share.") @Default("isthmus:")
        String prefix)
        implements CheckedSection {
    private static final int REDIS_PORT = 6379;
    private static final int MAX_PORT = 65_535;

    @Override
    public void check(SectionCheck check) {
        boolean known = hasServers(check);
        if (check.valid("password_file") && user != null && passwordFile == null) {
            check.problem("user", "'password_file' is expected with it");
        }
        check.atMost("timeout", timeout, "10s");
        check.atMost("recovery", recovery, "1m");
        check.secret("password_file", passwordFile);
        if (known && check.valid()) {
            if (secure()) {
                check.ownCertificate(certificate, key);
                check.authorities("ca", ca);
            } else {
                unused(check, "ca", ca);
                unused(check, "certificate", certificate);
                unused(check, "key", key);
            }
        }
    }

    /** Whether it is clear which servers are meant. */
    private boolean hasServers(SectionCheck check) {
        List<String> given = Stream.of(
                        url == null ? "" : "url",
                        sentinel == null ? "" : "sentinel",
                        cluster.isEmpty() ? "" : "cluster")
                .filter(each -> !each.isEmpty())
                .toList();
        if (given.size() != 1) {
            if (check.valid()) {
                check.problem("one of 'url', 'sentinel' and 'cluster' is expected, got "
                        + (given.isEmpty() ? "none" : String.join(" and ", given)));
            }
            return false;
        }
        check.unique("cluster", cluster.stream().map(Endpoint::authority).toList(), "cluster");
        if (url != null && !isServer(url)) {
            check.problem(
                    "url",
                    "redis://HOST:PORT/DATABASE or rediss://HOST:PORT/DATABASE is expected, without user"
                            + " and password, got '" + url + "'");
            return false;
        }
        if (url != null && tls) {
            check.problem("tls", "it is for 'sentinel' and 'cluster'; a rediss:// 'url' is expected instead");
        }
        return true;
    }

    /** A file that only encrypted connections use. */
    private void unused(SectionCheck check, String name, @Nullable Path file) {
        if (file != null) {
            check.problem(
                    name, url == null ? "'tls: true' is expected with it" : "a rediss:// 'url' is expected with it");
        }
    }

    private static boolean isServer(String text) {
        try {
            URI at = new URI(text);
            return ("redis".equals(at.getScheme()) || "rediss".equals(at.getScheme()))
                    && at.getHost() != null
                    && at.getRawUserInfo() == null
                    && at.getPort() != 0
                    && at.getPort() <= MAX_PORT
                    && at.getRawPath().matches("/?|/[0-9]{1,4}")
                    && at.getRawQuery() == null
                    && at.getRawFragment() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    /** How calls are counted while the server does not answer. */
    public enum FailureMode {
        LOCAL,
        OPEN,
        CLOSED
    }

    @Doc("Redis Sentinel: sentinels that name the master, and another one if it fails.")
    public record SentinelConfig(
            @Doc("Name of the master, as in the sentinels' configuration.") @Required
            String master,

            @Doc("host:port of the sentinels. The first that knows the master is asked.") @Required @NotEmpty
            List<Endpoint> endpoints,

            @Doc("Number of the master's database.") @Range(min = 0, max = 9999) @Default("0")
            int database,

            @Doc("Name of the sentinels' user. Default: Redis' own, 'default'.") @Nullable
            String user,

            @Doc("File with the password of the sentinels. The same rules apply as to 'password_file' of 'shared'.")
            @Nullable
            Path passwordFile)
            implements CheckedSection {

        @Override
        public void check(SectionCheck check) {
            if (check.valid("password_file") && user != null && passwordFile == null) {
                check.problem("user", "'password_file' is expected with it");
            }
            check.unique(
                    "endpoints", endpoints.stream().map(Endpoint::authority).toList(), "endpoints");
            check.secret("password_file", passwordFile);
        }
    }

    /** The only server, if there is a {@code url}; an IPv6 address has no brackets. */
    public Endpoint server() {
        URI at = URI.create(String.valueOf(url));
        return new Endpoint(at.getHost().replaceAll("[\\[\\]]", ""), at.getPort() < 0 ? REDIS_PORT : at.getPort());
    }

    /** Number of the database; a cluster has only 0. */
    public int database() {
        if (url == null) {
            return sentinel == null ? 0 : sentinel.database();
        }
        String path = URI.create(url).getPath();
        return path.length() < 2 ? 0 : Integer.parseInt(path.substring(1));
    }

    /** Whether connections are encrypted. */
    public boolean secure() {
        return url == null ? tls : url.startsWith("rediss:");
    }

    /** Names the servers, for operators. */
    public String servers() {
        if (sentinel != null) {
            return "Redis master '" + sentinel.master() + "' of the sentinels " + list(sentinel.endpoints());
        }
        return url == null ? "Redis Cluster at " + list(cluster) : "Redis at " + server().authority();
    }

    private static String list(List<Endpoint> endpoints) {
        return endpoints.stream().map(Endpoint::authority).collect(Collectors.joining(", "));
    }
}

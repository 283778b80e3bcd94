package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.AdminConfig.AdminTokenConfig;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.Node;

/** Checks the admin address, its tokens and its login. */
final class AdminChecks {
    /** A scope-token (RFC 6749, 3.3). */
    private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]+");

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._@-]{1,64}");

    private static final Duration LEAST_INTERVAL = Duration.ofSeconds(5);
    private static final Duration MOST_TIMEOUT = Duration.ofSeconds(10);

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    AdminChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    /** @param listeners the addresses that are taken */
    void run(AdminConfig admin, TlsChecks tls, List<Listener> listeners) {
        if (admin.tls() != null) {
            tls.listener("admin", admin.tls());
        }
        if (checks.valid(admin, "host", "port")
                && admin.port() != 0
                && listeners.stream().anyMatch(new Listener(admin.host(), admin.port())::sameAddress)) {
            yaml.problem(positions.of(admin), "admin: " + admin.host() + ":" + admin.port() + " is a listener already");
        }
        tokens(admin);
        session(admin.session());
        if (admin.oidc() != null) {
            oidc(admin.oidc());
        }
        dashboards(admin);
        if (admin.peers() != null) {
            peers(admin.peers());
        }
    }

    private void peers(PeersConfig peers) {
        String what = "admin: peers: ";
        if (peers.tokenFile() != null) {
            token(positions.of(peers, "token_file"), what + "token_file: " + peers.tokenFile(), peers.tokenFile());
        }
        if (peers.interval().compareTo(LEAST_INTERVAL) < 0) {
            yaml.problem(
                    positions.of(peers, "interval"),
                    what + "interval: at least 5s is expected, got '" + Units.written(peers.interval()) + "'");
        }
        if (peers.timeout().compareTo(MOST_TIMEOUT) > 0) {
            yaml.problem(
                    positions.of(peers, "timeout"),
                    what + "timeout: at most 10s is expected, got '" + Units.written(peers.timeout()) + "'");
        }
        if (checks.valid(peers, "tls") && !peers.tls() && (peers.ca() != null || peers.serverName() != null)) {
            String key = peers.ca() == null ? "server_name" : "ca";
            yaml.problem(positions.of(peers, key), what + key + ": 'tls: true' is expected with it");
        } else if (peers.ca() != null) {
            try {
                TlsFiles.certificates(peers.ca());
            } catch (TlsFileException e) {
                yaml.problem(positions.of(peers, "ca"), what + "ca: " + e.getMessage());
            }
        }
    }

    private void oidc(OidcConfig oidc) {
        String what = "admin: oidc: ";
        if (checks.readable(oidc, "issuer")
                && (!SecureUrl.isSecure(oidc.issuer()) || oidc.issuer().contains("?"))) {
            yaml.problem(
                    positions.of(oidc, "issuer"),
                    what + "issuer: an https URL without a query, or http on loopback, is expected, got '"
                            + oidc.issuer() + "'");
        }
        if (oidc.redirectUrl() != null && !callback(oidc.redirectUrl())) {
            yaml.problem(
                    positions.of(oidc, "redirect_url"),
                    what + "redirect_url: an http or https URL with the path " + OidcConfig.CALLBACK
                            + " is expected, got '" + oidc.redirectUrl() + "'");
        }
        if (checks.valid(oidc, "roles") && oidc.roles().isEmpty()) {
            yaml.problem(positions.of(oidc), what + "roles: at least one group is expected, or nobody could log in");
        }
        for (String scope : oidc.scopes()) {
            if (!SCOPE.matcher(scope).matches()) {
                yaml.problem(
                        positions.of(oidc, "scopes"),
                        what + "scopes: printable ASCII without spaces and quotes is expected, got '" + scope + "'");
            }
        }
        if (oidc.clientSecretFile() != null) {
            token(
                    positions.of(oidc, "client_secret_file"),
                    what + "client_secret_file: " + oidc.clientSecretFile(),
                    oidc.clientSecretFile());
        }
        if (oidc.ca() != null && !Files.isReadable(oidc.ca())) {
            yaml.problem(positions.of(oidc, "ca"), what + "ca: " + oidc.ca() + " cannot be read");
        }
    }

    private static boolean callback(String url) {
        try {
            URI uri = new URI(url);
            return uri.getHost() != null
                    && ("https".equals(uri.getScheme()) || "http".equals(uri.getScheme()))
                    && OidcConfig.CALLBACK.equals(uri.getPath())
                    && uri.getQuery() == null
                    && uri.getFragment() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private void tokens(AdminConfig admin) {
        if (checks.valid(admin) && !admin.hasLogin() && !ConfigChecks.isLoopback(admin.host())) {
            yaml.problem(
                    positions.of(admin, "host"),
                    "admin: 'token_file', 'tokens' or 'oidc' is required if the host is not loopback, got '"
                            + admin.host() + "'");
        }
        if (admin.tokenFile() != null) {
            token(positions.of(admin, "token_file"), "admin: token_file: " + admin.tokenFile(), admin.tokenFile());
        }
        new TreeMap<>(admin.tokens()).forEach((name, token) -> named(admin, name, token));
    }

    private void named(AdminConfig admin, String name, AdminTokenConfig token) {
        String what = "admin: tokens: " + name + ": ";
        if (!NAME.matcher(name).matches()) {
            yaml.problem(
                    positions.of(token),
                    "admin: tokens: a name of at most 64 letters, digits, '.', '_', '@' and '-' is expected, got '"
                            + name + "'");
        } else if (name.equals(AdminConfig.ADMIN) && admin.tokenFile() != null) {
            yaml.problem(positions.of(token), what + "the name is that of 'token_file'; another one is expected");
        } else if (checks.valid(token)) {
            token(positions.of(token, "file"), what + "file: " + token.file(), token.file());
        }
    }

    private void token(Node node, String what, Path file) {
        String problem = problem(file);
        if (problem != null) {
            yaml.problem(node, what + " " + problem);
        }
    }

    private static @Nullable String problem(Path file) {
        if (!Files.isReadable(file)) {
            return "cannot be read";
        }
        if (!Files.isRegularFile(file)) {
            return "is not a file";
        }
        try {
            return SecretFile.exposure(file);
        } catch (IOException e) {
            return "cannot be read";
        }
    }

    private void session(AdminConfig.AdminSessionConfig session) {
        positive(session, "idle", session.idle());
        positive(session, "max_age", session.maxAge());
    }

    private void dashboards(AdminConfig admin) {
        if (admin.dashboards() != null && !isWebAddress(admin.dashboards())) {
            yaml.problem(
                    positions.of(admin, "dashboards"),
                    "admin: dashboards: a URL as https://grafana.example/d/isthmus is expected, http or https, without"
                            + " credentials, got '" + admin.dashboards() + "'");
        }
    }

    private static boolean isWebAddress(String text) {
        try {
            URI url = new URI(text);
            return ("http".equals(url.getScheme()) || "https".equals(url.getScheme()))
                    && url.getHost() != null
                    && url.getUserInfo() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private void positive(AdminConfig.AdminSessionConfig session, String key, Duration time) {
        if (time.compareTo(Duration.ofMinutes(1)) < 0) {
            yaml.problem(
                    positions.of(session, key),
                    "admin: session: " + key + ": at least 1m is expected, got '" + Units.written(time) + "'");
        }
    }
}

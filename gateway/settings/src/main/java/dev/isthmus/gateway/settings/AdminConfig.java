package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

@Doc("Address for operators: metrics, state, reloads.")
public record AdminConfig(
        @Doc("Host name or address. An address that is not loopback needs a token.") @HostName @Default("127.0.0.1")
        String host,

        @Doc("0 takes any free port.") @Range(max = 65_535) @Default("9901")
        int port,

        @Doc("File with the token of the role admin. Tokens ('Authorization: Bearer') are needed by changes and "
                + "diagnosis, and by all requests if the host is not loopback. Without any token or 'oidc' nothing can be "
                + "changed over this address. The file must not be readable or writable by others, nor "
                + "writable by its group.")
        @Nullable
        Path tokenFile,

        @Doc("Further tokens, each with a name for the audit log and a role.")
        Map<String, AdminTokenConfig> tokens,

        @Doc("When the session of a browser that has logged in ends.")
        AdminSessionConfig session,

        @Nullable OidcConfig oidc,

        @Doc("Further values of 'Host' that are accepted; *.SUFFIX for a domain, * for any. 'host', "
                + "localhost and loopback addresses are always accepted, and every IP "
                + "address if 'host' is not "
                + "loopback.")
        @HostName(pattern = true)
        List<String> allowedHosts,

        @Doc("URL of dashboards, http or https: the console's charts, which have 6 hours, link to it.") @Nullable
        String dashboards,

        @Nullable ListenerTls tls,
        @Nullable PeersConfig peers)
        implements CheckedSection {
    public static final AdminConfig DEFAULT = DefaultValues.of(AdminConfig.class);
    /** The name of the token of {@link #tokenFile}. */
    public static final String ADMIN = "admin";

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._@-]{1,64}");

    @Override
    public void check(SectionCheck check) {
        if (check.valid() && !hasLogin() && !WebUrl.isLoopback(host)) {
            check.problemAt(
                    "host",
                    "'token_file', 'tokens' or 'oidc' is required if the host is not loopback, got '" + host + "'");
        }
        check.secret("token_file", tokenFile);
        new TreeMap<>(tokens).forEach((token, settings) -> {
            SectionCheck one = check.at(settings);
            if (!NAME.matcher(token).matches()) {
                one.problem("tokens: a name of at most 64 letters, digits, '.', '_', '@' and '-' is expected, got '"
                        + token + "'");
            } else if (token.equals(ADMIN) && tokenFile != null) {
                one.problem("tokens: " + token + ": the name is that of 'token_file'; another one is expected");
            } else if (one.valid()) {
                one.named("admin: tokens: " + token).secret("file", settings.file());
            }
        });
        check.expect(
                url -> WebUrl.of(url) != null,
                "dashboards",
                "a URL as https://grafana.example/d/isthmus is expected, http or https, without credentials",
                dashboards);
    }

    /** Whether anybody can be authorized: by a token or a login. */
    public boolean hasLogin() {
        return tokenFile != null || !tokens.isEmpty() || oidc != null;
    }

    /** What the holder of a token may do; each role may do what the ones before it may. */
    public enum AdminRole {
        /** See everything, diagnosis and the audit log included. */
        READ,
        /** Change what the gateway does: ramps, reloads, log levels, requests of the page Try it. */
        OPERATE,
        /** Everything: recordings of the process, and the check of a pasted configuration. */
        ADMIN;

        /** Whether it may do what another one may. */
        public boolean covers(AdminRole other) {
            return compareTo(other) >= 0;
        }

        /** Its name in the configuration. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public record AdminTokenConfig(
            @Doc("File with the token; as 'token_file'.") @Required
            Path file,

            @Doc("read: see everything. operate: also ramps, reloads, log levels, try requests. admin: everything.")
            @Required
            AdminRole role) {}

    /** When the session of a browser ends. */
    public record AdminSessionConfig(
            @Doc("Time since the operator last used the console; a page that only refreshes is not used.")
            @Default("1h")
            Duration idle,

            @Doc("Time since the login.") @Default("12h") Duration maxAge)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            check.expect(idle.toMinutes() >= 1, "idle", "at least 1m is expected", Units.written(idle));
            check.expect(maxAge.toMinutes() >= 1, "max_age", "at least 1m is expected", Units.written(maxAge));
        }
    }
}

package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.AccessConfig.AccessRule;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Checks who can reach the gateway, how callers are identified, and what they may do. */
final class AccessChecks {
    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final GatewayConfig config;

    AccessChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
        this.config = config;
    }

    void run() {
        config.listeners().stream().filter(checks::valid).forEach(this::listener);
        AuthenticationConfig authentication = config.authentication();
        if (authentication != null) {
            authentication(authentication);
        }
        if (config.access() != null) {
            rules(config.access());
        }
    }

    private void listener(Listener listener) {
        String what = "listener " + listener.label() + ": ";
        String exposed = ListenerExposure.problem(listener, config.authentication());
        if (exposed != null && checks.readable(config, "authentication")) {
            yaml.problem(positions.of(listener, "host"), what + exposed);
        }
        if (config.access() != null && listener.management() == ManagementAccess.ALLOW) {
            yaml.problem(
                    positions.of(listener, "management"),
                    what + "management: with 'access' its rules decide: name load, trace, log or shared_memory in the "
                            + "'may' of a rule");
        }
    }

    private void authentication(AuthenticationConfig authentication) {
        if (checks.valid(authentication)
                && authentication.apiKeys() == null
                && authentication.jwt() == null
                && authentication.clientCertificates() == null) {
            yaml.problem(
                    positions.of(authentication),
                    "authentication: 'api_keys', 'jwt' or 'client_certificates' is expected");
        }
        if (checks.valid(authentication, "forward")) {
            forgedHeaders(authentication.forward().principalHeader());
        }
        AuthenticationConfig.ApiKeyConfig keys = authentication.apiKeys();
        if (keys != null && checks.valid(keys)) {
            keyFile(keys);
            AccessLogConfig log = config.accessLog();
            if (log != null
                    && log.headers().contains(keys.header())
                    && !AccessLogConfig.CREDENTIALS.contains(keys.header())) {
                yaml.problem(
                        positions.of(log, "headers"),
                        "access_log: headers: '" + keys.header() + "' has API keys, which are not logged");
            }
        }
        if (authentication.jwt() != null && checks.valid(authentication.jwt())) {
            tokens(authentication.jwt());
        }
    }

    private void keyFile(AuthenticationConfig.ApiKeyConfig keys) {
        try {
            ApiKeyFile.read(keys.file());
        } catch (ConfigException e) {
            e.problems()
                    .forEach(problem ->
                            yaml.problem(positions.of(keys, "file"), "authentication: api_keys: file: " + problem));
        }
    }

    /** A header that is removed from requests says nothing of the caller. */
    private void forgedHeaders(String header) {
        config.models().forEach((name, model) -> {
            model.rules().stream()
                    .filter(rule -> rule.headers().containsKey(header))
                    .forEach(rule -> forged(rule, name, header));
            model.rates().stream()
                    .filter(rate -> header.equals(rate.header()))
                    .forEach(rate -> forged(rate, name, header));
            if (model.sticky() != null && header.equals(model.sticky().header())) {
                forged(model.sticky(), name, header);
            }
        });
    }

    private void forged(Record section, String model, String header) {
        yaml.problem(
                positions.of(section),
                "model '" + model + "': header '" + header
                        + "' is set by the gateway; clients can send any value in it");
    }

    private void tokens(JwtConfig jwt) {
        String what = "authentication: jwt: ";
        if ((jwt.jwksFile() == null) == (jwt.jwksUrl() == null)) {
            yaml.problem(positions.of(jwt), what + "one of 'jwks_file' and 'jwks_url' is expected");
        } else if (jwt.jwksUrl() != null && !SecureUrl.isSecure(jwt.jwksUrl())) {
            yaml.problem(
                    positions.of(jwt, "jwks_url"),
                    what + "jwks_url: an https URL, or http on loopback, is expected, got '" + jwt.jwksUrl() + "'");
        } else if (jwt.jwksFile() != null) {
            keySet(jwt, jwt.jwksFile(), what + "jwks_file: ");
        }
        if (jwt.jwksCa() != null) {
            authorities(jwt, jwt.jwksCa(), what + "jwks_ca: ");
        }
    }

    private void authorities(JwtConfig jwt, Path ca, String what) {
        if (jwt.jwksUrl() == null || !jwt.jwksUrl().startsWith("https:")) {
            yaml.problem(positions.of(jwt, "jwks_ca"), what + "an https URL in 'jwks_url' is expected with it");
            return;
        }
        try {
            TlsFiles.certificates(ca);
        } catch (TlsFileException e) {
            yaml.problem(positions.of(jwt, "jwks_ca"), what + e.getMessage());
        }
    }

    private void keySet(JwtConfig jwt, Path file, String what) {
        try {
            String exposure = SecretFile.forgeable(file);
            if (exposure != null) {
                yaml.problem(positions.of(jwt, "jwks_file"), what + file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                yaml.problem(positions.of(jwt, "jwks_file"), what + file + " cannot be read");
            }
        } catch (IOException e) {
            yaml.problem(positions.of(jwt, "jwks_file"), what + file + " cannot be read");
        }
    }

    private void rules(AccessConfig access) {
        Set<String> names = new HashSet<>();
        Set<String> listeners = new TreeSet<>();
        config.listeners().forEach(each -> listeners.add(each.label()));
        List<AccessRule> rules = access.rules();
        for (AccessRule rule : rules) {
            if (!checks.valid(rule)) {
                continue;
            }
            String what = "access: rule '" + rule.name() + "': ";
            if (!names.add(rule.name())) {
                yaml.problem(positions.of(rule, "name"), what + "the name is given twice");
            }
            if (rule.who().needIdentity() && config.authentication() == null) {
                yaml.problem(
                        positions.of(rule, "who"),
                        what + "who: without 'authentication' no caller has a name, groups, claims or a certificate");
            }
            for (String listener : rule.who().listeners()) {
                if (!listeners.contains(listener)) {
                    yaml.problem(
                            positions.of(rule.who(), "listeners"),
                            what + "who: listeners: no listener is '" + listener + "'"
                                    + NearestName.suggestion(listener, listeners));
                }
            }
            if (!rule.versions().isEmpty() && rule.may().stream().anyMatch(Permission::management)) {
                yaml.problem(
                        positions.of(rule, "versions"),
                        what + "versions: load, trace, log and shared_memory name no version; a rule of their own is "
                                + "expected");
            }
        }
    }
}

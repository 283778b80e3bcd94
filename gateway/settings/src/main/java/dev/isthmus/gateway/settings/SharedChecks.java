package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Checks the section on what gateways share. */
final class SharedChecks {
    private static final Duration LONGEST_ANSWER = Duration.ofSeconds(10);
    private static final Duration LONGEST_RECOVERY = Duration.ofMinutes(1);
    private static final int MAX_PORT = 65_535;

    private final ConfigChecks checks;
    private final TlsChecks tls;
    private final YamlReader yaml;
    private final SectionPositions positions;

    SharedChecks(ConfigChecks checks, TlsChecks tls, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.tls = tls;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(SharedConfig shared) {
        boolean known = hasServers(shared);
        if (checks.valid(shared, "password_file") && shared.user() != null && shared.passwordFile() == null) {
            problem(shared, "user", "'password_file' is expected with it");
        }
        if (shared.timeout().compareTo(LONGEST_ANSWER) > 0) {
            problem(shared, "timeout", "at most 10s is expected, got '" + Units.written(shared.timeout()) + "'");
        }
        if (shared.recovery().compareTo(LONGEST_RECOVERY) > 0) {
            problem(shared, "recovery", "at most 1m is expected, got '" + Units.written(shared.recovery()) + "'");
        }
        password(shared, "", shared.passwordFile());
        if (shared.sentinel() != null) {
            sentinel(shared.sentinel());
        }
        if (known && checks.valid(shared)) {
            authority(shared);
        }
    }

    /** Whether it is clear which servers are meant. */
    private boolean hasServers(SharedConfig shared) {
        boolean cluster = !shared.cluster().isEmpty();
        List<String> given = new ArrayList<>();
        if (shared.url() != null) {
            given.add("url");
        }
        if (shared.sentinel() != null) {
            given.add("sentinel");
        }
        if (cluster) {
            given.add("cluster");
        }
        if (given.size() != 1) {
            String got = given.isEmpty() ? "none" : String.join(" and ", given);
            if (checks.valid(shared)) {
                yaml.problem(
                        positions.of(shared), "shared: one of 'url', 'sentinel' and 'cluster' is expected, got " + got);
            }
            return false;
        }
        if (shared.url() != null) {
            return isUrl(shared);
        }
        if (cluster) {
            endpoints(shared, "cluster", shared.cluster(), "shared: cluster: ");
        }
        return true;
    }

    private boolean isUrl(SharedConfig shared) {
        String url = String.valueOf(shared.url());
        if (!isServer(url)) {
            problem(
                    shared,
                    "url",
                    "redis://HOST:PORT/DATABASE or rediss://HOST:PORT/DATABASE is expected, without user and password, got '"
                            + withoutPassword(url) + "'");
            return false;
        }
        if (shared.tls()) {
            problem(shared, "tls", "it is for 'sentinel' and 'cluster'; a rediss:// 'url' is expected instead");
        }
        return true;
    }

    private void sentinel(SharedConfig.SentinelConfig sentinel) {
        if (checks.valid(sentinel, "password_file") && sentinel.user() != null && sentinel.passwordFile() == null) {
            yaml.problem(positions.of(sentinel, "user"), "shared: sentinel: user: 'password_file' is expected with it");
        }
        endpoints(sentinel, "endpoints", sentinel.endpoints(), "shared: sentinel: endpoints: ");
        password(sentinel, "sentinel: ", sentinel.passwordFile());
    }

    private void endpoints(Record section, String key, List<Endpoint> endpoints, String what) {
        Set<Endpoint> seen = new HashSet<>();
        for (int i = 0; i < endpoints.size(); i++) {
            if (!seen.add(endpoints.get(i))) {
                yaml.problem(
                        positions.of(section, key, i, endpoints.size()),
                        what + endpoints.get(i).authority() + " is given twice");
            }
        }
    }

    private static boolean isServer(String text) {
        try {
            URI url = new URI(text);
            return ("redis".equals(url.getScheme()) || "rediss".equals(url.getScheme()))
                    && url.getHost() != null
                    && url.getRawUserInfo() == null
                    && url.getPort() != 0
                    && url.getPort() <= MAX_PORT
                    && url.getRawPath().matches("/?|/[0-9]{1,4}")
                    && url.getRawQuery() == null
                    && url.getRawFragment() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private static String withoutPassword(String url) {
        return url.replaceFirst("//.*@", "//...@");
    }

    private void password(Record section, String within, @Nullable Path file) {
        if (file == null) {
            return;
        }
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                unusable(section, within + "password_file: " + file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                unusable(section, within + "password_file: " + file + " cannot be read");
            }
        } catch (IOException e) {
            unusable(section, within + "password_file: " + file + " cannot be read");
        }
    }

    private void unusable(Record section, String what) {
        yaml.problem(positions.of(section, "password_file"), "shared: " + what);
    }

    private void authority(SharedConfig shared) {
        Path ca = shared.ca();
        if (!shared.secure()) {
            plain(shared, "ca", ca);
            plain(shared, "certificate", shared.certificate());
            plain(shared, "key", shared.key());
            return;
        }
        tls.own(shared, "shared", shared.certificate(), shared.key());
        if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                problem(shared, "ca", String.valueOf(e.getMessage()));
            }
        }
    }

    /** A file that only encrypted connections use. */
    private void plain(SharedConfig shared, String key, @Nullable Path file) {
        if (file != null) {
            problem(
                    shared,
                    key,
                    shared.url() == null ? "'tls: true' is expected with it" : "a rediss:// 'url' is expected with it");
        }
    }

    private void problem(SharedConfig shared, String key, String what) {
        yaml.problem(positions.of(shared, key), "shared: " + key + ": " + what);
    }
}

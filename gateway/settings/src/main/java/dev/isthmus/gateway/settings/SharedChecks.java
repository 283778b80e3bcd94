package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Checks the section on what gateways share. */
final class SharedChecks {
    private static final Duration LONGEST = Duration.ofSeconds(10);
    private static final int MAX_PORT = 65_535;

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    SharedChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(SharedConfig shared) {
        if (!checks.valid(shared)) {
            return;
        }
        if (!isServer(shared.url())) {
            problem(
                    shared,
                    "url",
                    "redis://HOST:PORT/DATABASE or rediss://HOST:PORT/DATABASE is expected, without user and password, got '"
                            + withoutPassword(shared.url()) + "'");
            return;
        }
        if (shared.user() != null && shared.passwordFile() == null) {
            problem(shared, "user", "'password_file' is expected with it");
        }
        if (shared.timeout().compareTo(LONGEST) > 0) {
            problem(shared, "timeout", "at most 10s is expected, got '" + Units.written(shared.timeout()) + "'");
        }
        password(shared);
        authority(shared);
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

    private void password(SharedConfig shared) {
        Path file = shared.passwordFile();
        if (file == null) {
            return;
        }
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                problem(shared, "password_file", file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                problem(shared, "password_file", file + " cannot be read");
            }
        } catch (IOException e) {
            problem(shared, "password_file", file + " cannot be read");
        }
    }

    private void authority(SharedConfig shared) {
        Path ca = shared.ca();
        if (ca != null && !shared.secure()) {
            problem(shared, "ca", "a rediss:// 'url' is expected with it");
        } else if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                problem(shared, "ca", String.valueOf(e.getMessage()));
            }
        }
    }

    private void problem(SharedConfig shared, String key, String what) {
        yaml.problem(positions.of(shared, key), "shared: " + key + ": " + what);
    }
}

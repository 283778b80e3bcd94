package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.PayloadLogConfig.PayloadForm;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;

/** Checks the section on the payload log. */
final class PayloadLogChecks {
    /** Written as JSON, a tensor takes up to twelve times its size of heap for a while. */
    private static final int MAX_JSON = 16 << 20;

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    PayloadLogChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(PayloadLogConfig log) {
        String url = log.url();
        if (checks.valid(log) && (url == null) == (log.file() == null)) {
            yaml.problem(positions.of(log), "payload_log: one of 'url' and 'file' is expected");
        } else if (url != null && !isSink(url)) {
            yaml.problem(
                    positions.of(log, "url"),
                    "payload_log: url: an http or https URL without user and password is expected, got '" + url + "'");
        }
        checks.written(log, "payload_log", "file", log.file());
        if (!isReference(log.source())) {
            yaml.problem(
                    positions.of(log, "source"),
                    "payload_log: source: a URI reference is expected, got '" + log.source() + "'");
        }
        if (checks.valid(log, "max_size", "max_queued") && log.maxSize() > log.maxQueued()) {
            yaml.problem(
                    positions.of(log, "max_size"),
                    "payload_log: max_size: at most max_queued, " + Units.size(log.maxQueued()) + ", is expected, got '"
                            + Units.size(log.maxSize()) + "'");
        }
        if (log.form() == PayloadForm.JSON && log.maxSize() > MAX_JSON) {
            yaml.problem(
                    positions.of(log, "max_size"),
                    "payload_log: max_size: with form json at most " + Units.size(MAX_JSON)
                            + " is expected, as JSON takes several times the memory, got '"
                            + Units.size(log.maxSize()) + "'");
        }
        if (checks.valid(log, "url")) {
            authority(log, url == null ? "" : url);
        }
    }

    private void authority(PayloadLogConfig log, String url) {
        Path ca = log.ca();
        if (ca != null && !url.startsWith("https:")) {
            yaml.problem(positions.of(log, "ca"), "payload_log: ca: an https 'url' is expected with it");
        } else if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                yaml.problem(positions.of(log, "ca"), "payload_log: ca: " + e.getMessage());
            }
        }
    }

    private static boolean isSink(String url) {
        try {
            URI uri = new URI(url);
            return uri.getHost() != null
                    && uri.getUserInfo() == null
                    && uri.getFragment() == null
                    && ("https".equals(uri.getScheme()) || "http".equals(uri.getScheme()));
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private static boolean isReference(String text) {
        try {
            return !new URI(text).toString().isEmpty();
        } catch (URISyntaxException e) {
            return false;
        }
    }
}

package dev.isthmus.gateway.settings;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.yaml.snakeyaml.nodes.Node;

/** Checks the sections {@code cache} of the models. */
final class CacheChecks {
    /** Requests with these are never cached, or only the form of the response depends on them. */
    private static final Set<String> NO_PARAMETERS =
            Set.of("sequence_id", "sequence_start", "sequence_end", "binary_data_output");

    /** Their values differ from call to call, or only the form of request or response depends on them. */
    private static final Set<String> NO_HEADERS = Set.of(
            "accept",
            "accept-encoding",
            "cache-control",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "date",
            "host",
            HeaderAllowList.JSON_LENGTH.toString(),
            HeaderAllowList.PRINCIPAL,
            HeaderAllowList.REQUEST_ID,
            HeaderAllowList.TIMEOUT.toString(),
            "te",
            "traceparent",
            "tracestate",
            "transfer-encoding");

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final GatewayConfig config;

    CacheChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
        this.config = config;
    }

    void run(String what, CacheConfig cache) {
        parts(what + ": parameters", cache, "parameters", cache.parameters(), NO_PARAMETERS);
        parts(what + ": headers", cache, "headers", cache.headers(), NO_HEADERS);
        if (cache.caller() && config.authentication() == null && checks.readable(config, "authentication")) {
            yaml.problem(
                    positions.of(cache, "caller"),
                    what + ": caller: requires a section 'authentication', since otherwise no caller is known");
        }
        if (cache.ttl().isZero() && !cache.singleflight() && checks.valid(cache, "ttl", "singleflight")) {
            yaml.problem(
                    positions.of(cache, "singleflight"),
                    what + ": 'ttl' above 0s or 'singleflight: true' is expected, since nothing is shared otherwise");
        }
    }

    private void parts(String what, CacheConfig cache, String key, List<String> names, Set<String> refused) {
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            Node node = positions.of(cache, key, i, names.size());
            if (refused.contains(name.toLowerCase(Locale.ROOT))) {
                yaml.problem(node, what + ": '" + name + "' cannot distinguish requests: " + reason(name));
            } else if (names.indexOf(name) < i) {
                yaml.problem(node, what + ": '" + name + "' is there twice: one is expected");
            }
        }
    }

    private static String reason(String name) {
        if (name.equals(HeaderAllowList.PRINCIPAL)) {
            return "the gateway sets it; 'caller: true' distinguishes callers";
        }
        return name.startsWith("sequence_")
                ? "those of sequences are never cached"
                : "it differs from call to call, or concerns only the form of a message";
    }
}

package dev.isthmus.bench.sizing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Which models are on which servers. Server {@code s} belongs to upstream {@code s % upstreams}. Of ten models in a row,
 * which are on one upstream, six are configured by name, one under another name than on its servers, one with a second
 * target on the next upstream, one is reached by a pattern, and one is discovered.
 */
record FleetShape(int models, int servers, int upstreams) {
    private static final int KINDS = 10;
    private static final int RENAMED = 6;
    private static final int SPLIT = 7;
    private static final int PATTERN = 8;
    private static final int DISCOVERED = 9;

    FleetShape {
        if (models < 1 || upstreams < 1 || servers < upstreams) {
            throw new IllegalArgumentException("models " + models + ", servers " + servers + ", upstreams " + upstreams
                    + ": at least 1 each are expected, and a server for each upstream");
        }
    }

    String label() {
        return String.format(Locale.ROOT, "%,d models, %,d servers in %,d upstreams", models, servers, upstreams);
    }

    private int upstream(int model) {
        return model / KINDS % upstreams;
    }

    /** The name that clients use. */
    String client(int model) {
        return switch (model % KINDS) {
            case PATTERN -> "batch-" + upstream(model) + "-" + model;
            case DISCOVERED -> "found-" + model;
            default -> "m" + model;
        };
    }

    /** The name on its servers. */
    private String there(int model) {
        return model % KINDS == RENAMED ? "there-" + model : client(model);
    }

    /** The models on a server. */
    List<String> on(int server) {
        List<String> names = new ArrayList<>();
        for (int model = 0; model < models; model++) {
            int upstream = upstream(model);
            boolean second = model % KINDS == SPLIT && (upstream + 1) % upstreams == server % upstreams;
            if (upstream == server % upstreams || second) {
                names.add(there(model));
            }
        }
        return names;
    }

    /**
     * The gateway's configuration.
     *
     * @param ports of the servers, in their order
     * @param token the file with the token of the admin address
     * @param settings further sections
     * @param alias a second name of the first model: another one is a change of one route
     */
    String configuration(int port, int adminPort, Path token, List<Integer> ports, String settings, String alias) {
        StringBuilder text = new StringBuilder("listeners: [{host: 127.0.0.1, port: " + port + "}]\n"
                + "admin: {host: 127.0.0.1, port: " + adminPort + ", token_file: " + token + "}\n" + settings
                + "\nupstreams:\n");
        for (int upstream = 0; upstream < upstreams; upstream++) {
            List<String> endpoints = new ArrayList<>();
            for (int server = upstream; server < servers; server += upstreams) {
                endpoints.add("\"127.0.0.1:" + ports.get(server) + "\"");
            }
            text.append("  u" + upstream + ": {protocol: grpc, discover: true, endpoints: ["
                    + String.join(", ", endpoints) + "]}\n");
        }
        text.append("models:\n");
        for (int model = 0; model < models; model++) {
            route(text, model, model == 0 ? ", aliases: [" + alias + "]" : "");
        }
        return text.toString();
    }

    private void route(StringBuilder text, int model, String aliases) {
        int upstream = upstream(model);
        switch (model % KINDS) {
            case RENAMED ->
                text.append("  m" + model + ": {upstream: u" + upstream + ", model: " + there(model) + "}\n");
            case SPLIT ->
                text.append("  m" + model + ": {targets: [{name: a, upstream: u" + upstream
                        + ", weight: 90}, {name: b, upstream: u" + (upstream + 1) % upstreams + ", weight: 10}]}\n");
            case PATTERN -> {
                if (model / KINDS < upstreams) {
                    text.append("  \"batch-" + upstream + "-*\": {upstream: u" + upstream + "}\n");
                }
            }
            case DISCOVERED -> {
                // not configured
            }
            default -> text.append("  m" + model + ": {upstream: u" + upstream + aliases + "}\n");
        }
    }
}

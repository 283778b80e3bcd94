package dev.isthmus.gateway.console;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.UpstreamConfig;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The gateway's own part of the time from a complete request to the first response: what is left without the tries at
 * servers. It has validation, transcoding, waits for a connection, and pauses between tries. Models of the local
 * backend run in the gateway and are left out.
 *
 * @param waitSeconds from complete requests to first responses, of models on servers
 * @param waits how many of them
 * @param trySeconds of tries at the servers of these models
 */
record OwnTime(double waitSeconds, long waits, double trySeconds) {
    private static final String LOCAL = "local";

    static OwnTime of(TrafficReading reading, GatewayConfig config) {
        CallTotals remote = new CallTotals();
        reading.models().forEach((model, totals) -> {
            if (!isLocal(model, config)) {
                remote.addWaitsOf(totals);
            }
        });
        Set<String> copies = shadowUpstreams(config);
        double tries = 0;
        for (Map.Entry<String, Double> upstream : reading.trySeconds().entrySet()) {
            tries += copies.contains(upstream.getKey()) ? 0 : upstream.getValue();
        }
        return new OwnTime(remote.waitSeconds(), remote.waits(), tries);
    }

    private static boolean isLocal(String model, GatewayConfig config) {
        ModelConfig configured = config.models().get(model);
        return configured == null
                ? LOCAL.equals(config.defaultUpstream())
                : configured.allTargets().stream().anyMatch(target -> target.upstream().equals(LOCAL));
    }

    /** Upstreams that get copies of calls and no calls of clients. */
    private static Set<String> shadowUpstreams(GatewayConfig config) {
        Set<String> copies = new HashSet<>();
        Set<String> calls = new HashSet<>(Set.of(Objects.requireNonNullElse(config.defaultUpstream(), "")));
        for (ModelConfig model : config.models().values()) {
            model.shadow().forEach(shadow -> copies.add(shadow.upstream()));
            model.allTargets().forEach(target -> calls.add(target.upstream()));
            if (model.fallback() != null) {
                calls.add(model.fallback().upstream());
            }
        }
        config.upstreams().forEach((name, upstream) -> addDiscovering(calls, name, upstream));
        copies.removeAll(calls);
        return copies;
    }

    private static void addDiscovering(Set<String> calls, String name, UpstreamConfig upstream) {
        if (upstream.discover()) {
            calls.add(name);
        }
    }

    /** Its share of the time since an earlier reading, from 0 to 1; NaN without calls. */
    double share(OwnTime before) {
        double waited = waitSeconds - before.waitSeconds;
        return waited <= 0 ? Double.NaN : Math.clamp(own(before) / waited, 0, 1);
    }

    /** Its mean in seconds since an earlier reading; NaN without calls. */
    double mean(OwnTime before) {
        long calls = waits - before.waits;
        return calls <= 0 ? Double.NaN : own(before) / calls;
    }

    private double own(OwnTime before) {
        return Math.max(0, waitSeconds - before.waitSeconds - (trySeconds - before.trySeconds));
    }
}

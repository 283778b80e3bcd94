package dev.isthmus.gateway.console;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;

/**
 * The gateway's own part of the time from a complete request to the first response: what is left without the tries at
 * servers and the waits in queues. It has validation, transcoding, waits for a connection, and pauses between tries.
 * Models of the local backend run in the gateway and are left out. Copies for shadows are subtracted with their whole
 * time, which makes the rest a little too long.
 *
 * @param waitSeconds from complete requests to first responses, of models on servers
 * @param waits how many of them
 * @param trySeconds of tries at the servers of these models
 */
record OwnTime(double waitSeconds, long waits, double trySeconds) {
    private static final String LOCAL = "local";

    static OwnTime of(FleetReading reading, GatewayConfig config) {
        CallTotals remote = new CallTotals();
        reading.models().forEach((model, totals) -> {
            if (!isLocal(model, config)) {
                remote.addWaitsOf(totals);
            }
        });
        return new OwnTime(
                remote.waitSeconds(), remote.waits(), reading.values().getOrDefault(FleetReading.TRY_SECONDS, 0.0));
    }

    private static boolean isLocal(String model, GatewayConfig config) {
        ModelConfig configured = config.models().get(model);
        return configured == null
                ? LOCAL.equals(config.defaultUpstream())
                : configured.allTargets().stream()
                        .anyMatch(target -> target.upstream().equals(LOCAL));
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

package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;

/**
 * Settings of all inferences.
 *
 * @param nonFinite how NaN and the infinities are written as JSON for clients that do not specify it
 */
public record InferRules(WireLimits limits, NonFinite nonFinite) {

    /** Those of a configuration. */
    public static InferRules of(GatewayConfig config) {
        WireLimits limits = WireLimits.DEFAULT
                .withBodyBytes(config.limits().maxBodySize())
                .withTensors(config.limits().maxTensors());
        return new InferRules(limits, config.answers().nonFinite());
    }
}

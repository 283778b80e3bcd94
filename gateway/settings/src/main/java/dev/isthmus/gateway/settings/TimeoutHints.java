package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a valid configuration may not be meant to say: retries or a fallback are configured, and a server that hangs
 * nevertheless takes the whole time of a call.
 */
public final class TimeoutHints {
    private TimeoutHints() {}

    /** One line for each upstream that this holds for, by name. */
    public static List<String> of(GatewayConfig config) {
        List<String> hints = new ArrayList<>();
        new TreeMap<>(config.upstreams()).forEach((name, upstream) -> {
            List<String> effects = effects(config, name, upstream);
            if (upstream.tryTimeout() == null && !effects.isEmpty()) {
                hints.add("upstream '" + name + "': a server that hangs takes the whole timeout of "
                        + Units.written(upstream.timeout()) + ", as there is no 'try_timeout': "
                        + String.join(", and ", effects));
            }
        });
        return hints;
    }

    /** What that does to the things that are configured for failures; default retries are not. */
    private static List<String> effects(GatewayConfig config, String name, UpstreamConfig upstream) {
        List<String> effects = new ArrayList<>();
        if (upstream.retry().retries() > 0 && !upstream.retry().equals(Retry.DEFAULT)) {
            effects.add("'retry' does nothing then");
        }
        Set<String> models = new TreeSet<>();
        config.models().forEach((key, model) -> {
            boolean here =
                    model.allTargets().stream().map(TargetConfig::upstream).anyMatch(name::equals);
            // A timeout of the model leaves the fallback a share of it.
            if (model.fallback() != null && model.timeout() == null && here) {
                models.add("'" + key + "'");
            }
        });
        if (!models.isEmpty()) {
            effects.add(
                    "the 'fallback' of " + String.join(", ", models) + " comes after it, if the client still waits");
        }
        return effects;
    }
}

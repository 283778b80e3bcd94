package dev.isthmus.gateway;

import dev.isthmus.gateway.settings.GatewayConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The settings that a reload does not change. */
final class FixedSettings {
    private FixedSettings() {}

    /** A configuration with the settings that are in effect. */
    static GatewayConfig kept(GatewayConfig config, GatewayConfig inEffect) {
        return config.withFixed(inEffect);
    }

    /** Which of them a configuration would change, for operators. A new list, which the caller may change. */
    static List<String> warnings(GatewayConfig config, GatewayConfig inEffect) {
        List<String> changed = new ArrayList<>();
        if (!Objects.equals(inEffect.admin(), config.admin())) {
            changed.add("admin");
        }
        if (!inEffect.ramps().equals(config.ramps())) {
            changed.add("ramps");
        }
        if (!Objects.equals(inEffect.shared(), config.shared())) {
            changed.add("shared");
        }
        changed.replaceAll(section -> section + ": the change takes effect after a restart");
        return changed;
    }
}

package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.LinkedHashMap;
import java.util.Map;

/** A configuration as it could be written into a file. */
public final class ConfigDocument {
    private ConfigDocument() {}

    /** All of a configuration, defaults included, by key. */
    public static Map<String, Object> of(GatewayConfig config) {
        Map<String, Object> document = new LinkedHashMap<>();
        ((Map<?, ?>) new Section(GatewayConfig.class).written(config))
                .forEach((key, value) -> document.put((String) key, value));
        return document;
    }
}

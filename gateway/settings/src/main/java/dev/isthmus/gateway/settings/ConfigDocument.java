package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.LinkedHashMap;
import java.util.Map;

/** A configuration in the structure of a configuration file. */
public final class ConfigDocument {
    private ConfigDocument() {}

    /** The whole configuration by key, including defaults, with references in place of the values that came from them. */
    public static Map<String, Object> of(GatewayConfig config) {
        Map<String, Object> document = values(config);
        config.references().replaceIn(document, (value, reference) -> reference);
        return document;
    }

    /** The whole configuration by key, with all values. */
    public static Map<String, Object> values(GatewayConfig config) {
        Map<String, Object> document = new LinkedHashMap<>();
        ((Map<?, ?>) new Section(GatewayConfig.class).written(config))
                .forEach((key, value) -> document.put((String) key, value));
        return document;
    }
}

package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ModelRef;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a model is called behind the gateway.
 *
 * @param name the model's name; null keeps the client's
 * @param labels versions by the names that clients may use for them
 * @param defaultVersion for clients that name none; empty lets the server choose
 */
record UpstreamModelName(@Nullable String name, Map<String, String> labels, String defaultVersion) {
    private static final String LATEST = "latest";

    static UpstreamModelName of(@Nullable String name, ModelConfig config) {
        String version = config.defaultVersion();
        return new UpstreamModelName(name, config.versions(), version == null ? "" : known(version, config.versions()));
    }

    private static String known(String version, Map<String, String> labels) {
        String labelled = labels.get(version);
        if (labelled != null) {
            return labelled;
        }
        return version.equals(LATEST) ? "" : version;
    }

    /** Whether a client names a version itself, and not by a label. */
    boolean namesVersion(ModelRef asked) {
        return !asked.version().isEmpty() && !labels.containsKey(asked.version());
    }

    /** @param model the name there; null for the same */
    ModelRef of(ModelRef asked, @Nullable String model, @Nullable String version) {
        String called = model != null ? model : name != null ? name : asked.name();
        String wanted = version != null ? version : version(asked);
        return called.equals(asked.name()) && wanted.equals(asked.version()) ? asked : new ModelRef(called, wanted);
    }

    private String version(ModelRef asked) {
        return asked.version().isEmpty() ? defaultVersion : labels.getOrDefault(asked.version(), asked.version());
    }
}

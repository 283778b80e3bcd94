package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ModelRef;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Translates a client's model name and version to those of an upstream.
 *
 * @param name the model's name; null keeps the client's
 * @param labels versions by the labels that clients may use for them
 * @param defaultVersion if the client names none; empty lets the server choose
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

    /** The version that a client names, itself or by a label; empty if it names none. */
    String named(ModelRef requested) {
        return labels.getOrDefault(requested.version(), requested.version());
    }

    /**
     * @param model the name there; null for the default
     * @param version the version there; null for the requested one
     */
    ModelRef of(ModelRef requested, @Nullable String model, @Nullable String version) {
        String mapped = model != null ? model : name != null ? name : requested.name();
        String mappedVersion = version != null ? version : version(requested);
        return mapped.equals(requested.name()) && mappedVersion.equals(requested.version())
                ? requested
                : new ModelRef(mapped, mappedVersion);
    }

    private String version(ModelRef requested) {
        return requested.version().isEmpty() ? defaultVersion : named(requested);
    }
}

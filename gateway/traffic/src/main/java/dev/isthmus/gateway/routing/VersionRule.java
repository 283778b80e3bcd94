package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.ExplicitVersion;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Which targets of a route may serve an explicitly requested version.
 *
 * @param holds whether an explicit version is binding; otherwise a target's version replaces it
 * @param versions of the targets that have one
 * @param open whether there are targets without a version
 */
record VersionRule(UpstreamModelName naming, boolean holds, Set<String> versions, boolean open) {

    static VersionRule of(ModelConfig config, UpstreamModelName naming, List<WeightedTarget> arms) {
        Set<String> versions = new TreeSet<>();
        boolean open = false;
        for (WeightedTarget arm : arms) {
            if (arm.version() == null) {
                open = true;
            } else {
                versions.add(arm.version());
            }
        }
        return new VersionRule(naming, config.explicitVersion() == ExplicitVersion.HONOR, versions, open);
    }

    /**
     * The explicit version of a request, by itself or by a label, if targets have versions of their own; null if any
     * target may serve it.
     *
     * @throws OipException NOT_FOUND for a version that no target serves
     */
    @Nullable
    RequestedVersion named(ModelRef requested) {
        String version = naming.named(requested);
        if (!holds || versions.isEmpty() || version.isEmpty()) {
            return null;
        }
        if (versions.contains(version)) {
            return new RequestedVersion(version, version);
        }
        if (!open) {
            throw new OipException(
                    ErrorCode.NOT_FOUND,
                    "model '" + requested.name() + "' has no version '" + version + "', expected one of " + versions);
        }
        return new RequestedVersion(version, null);
    }

    /** Whether a target serves another version than the explicit one. */
    boolean excludes(WeightedTarget arm, ModelRef requested) {
        String version = naming.named(requested);
        return holds
                && arm.version() != null
                && !version.isEmpty()
                && !arm.version().equals(version);
    }
}

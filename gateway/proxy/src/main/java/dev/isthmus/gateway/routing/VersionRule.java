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
 * Which targets of a route may take a call for the version that it names.
 *
 * @param holds whether a version that a call names is what it gets; otherwise a target's version replaces it
 * @param versions of the targets that have one
 * @param open whether there are targets that have none
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
     * The version that a call names, where targets have versions of their own; null where any target may take the call.
     *
     * @throws OipException NOT_FOUND for a version that no target serves
     */
    @Nullable
    RequestedVersion named(ModelRef asked) {
        if (!holds || versions.isEmpty() || !naming.namesVersion(asked)) {
            return null;
        }
        String version = asked.version();
        if (versions.contains(version)) {
            return new RequestedVersion(version, version);
        }
        if (!open) {
            throw new OipException(
                    ErrorCode.NOT_FOUND,
                    "model '" + asked.name() + "' has no version '" + version + "', expected one of " + versions);
        }
        return new RequestedVersion(version, null);
    }

    /** Whether an arm answers with another version than a call names. */
    boolean excludes(WeightedTarget arm, ModelRef asked) {
        return holds
                && arm.version() != null
                && naming.namesVersion(asked)
                && !arm.version().equals(asked.version());
    }
}

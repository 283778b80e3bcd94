package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

@Doc("Settings of all ramps.")
public record RampsConfig(
        @Doc(
                "File with the state of ramps, which outlives restarts. Its folder must exist. Default: NAME.ramps.json beside the "
                        + "configuration NAME.yaml.")
        @Nullable
        Path stateFile)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        check.written("state_file", stateFile);
    }

    /** With the state in a file beside the configuration file. */
    static RampsConfig beside(Path file) {
        String name = String.valueOf(file.getFileName());
        int dot = name.lastIndexOf('.');
        String stem = dot < 1 ? name : name.substring(0, dot);
        return new RampsConfig(file.resolveSibling(stem + ".ramps.json"));
    }
}

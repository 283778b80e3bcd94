package dev.isthmus.gateway.reload;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/** The result of a reload. */
public sealed interface ReloadResult {

    /**
     * The configuration is in effect.
     *
     * @param generation its number; the previous one if nothing has changed
     * @param changes one line per changed key
     * @param warnings about settings that are not in effect
     */
    record Applied(long generation, List<String> changes, List<String> warnings) implements ReloadResult {
        public Applied {
            changes = List.copyOf(changes);
            warnings = List.copyOf(warnings);
        }
    }

    /**
     * The configuration was rejected, and the previous one stays in effect.
     *
     * @param invalid whether the configuration is invalid; otherwise it cannot be applied now
     * @param problems one line each
     */
    record Rejected(boolean invalid, List<String> problems) implements ReloadResult {
        public Rejected {
            problems = List.copyOf(problems);
        }
    }

    /** How the last reload ended, and when. */
    public record LastReload(Instant time, ReloadResult result) {

        /** For the admin listener. */
        public Map<String, Object> document() {
            String at = time.toString();
            return switch (result) {
                case Applied it ->
                    Map.of("time", at, "applied", true, "changes", it.changes(), "warnings", it.warnings());
                case Rejected it -> Map.of("time", at, "applied", false, "problems", it.problems());
            };
        }
    }
}

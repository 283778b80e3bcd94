package dev.isthmus.gateway.reload;

import java.time.Instant;
import java.util.LinkedHashMap;
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
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("time", time.toString());
            switch (result) {
                case ReloadResult.Applied applied -> {
                    document.put("applied", true);
                    document.put("changes", applied.changes());
                    document.put("warnings", applied.warnings());
                }
                case ReloadResult.Rejected rejected -> {
                    document.put("applied", false);
                    document.put("problems", rejected.problems());
                }
            }
            return document;
        }
    }
}

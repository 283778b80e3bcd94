package dev.isthmus.gateway.reload;

import java.util.List;

/** How a reload went. */
public sealed interface ReloadResult {

    /**
     * The configuration is served.
     *
     * @param generation its number; the one before, where nothing has changed
     * @param changes a line for each key that changed
     * @param warnings what of it is not in effect
     */
    record Applied(long generation, List<String> changes, List<String> warnings) implements ReloadResult {
        public Applied {
            changes = List.copyOf(changes);
            warnings = List.copyOf(warnings);
        }
    }

    /**
     * It is refused, and the one before is still served.
     *
     * @param invalid whether it is wrong in itself; otherwise it cannot be put into effect here and now
     * @param problems a line each
     */
    record Rejected(boolean invalid, List<String> problems) implements ReloadResult {
        public Rejected {
            problems = List.copyOf(problems);
        }
    }
}

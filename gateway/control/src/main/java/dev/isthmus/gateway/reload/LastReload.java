package dev.isthmus.gateway.reload;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

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

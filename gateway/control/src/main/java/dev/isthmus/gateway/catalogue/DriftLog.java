package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The latest drift of each model; logs each change once. Thread-safe. */
final class DriftLog {
    private static final Logger LOG = LoggerFactory.getLogger(DriftLog.class);
    private static final int MAX_MODELS = 10_000;

    private final Cache<String, List<Drift>> byModel = Caffeine.newBuilder()
            .maximumSize(MAX_MODELS)
            .executor(Runnable::run)
            .build();

    void record(String model, List<Drift> drift) {
        List<Drift> before = byModel.getIfPresent(model);
        if (drift.equals(before == null ? List.of() : before)) {
            return;
        }
        if (drift.isEmpty()) {
            byModel.invalidate(model);
            LOG.atInfo()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("model", model)
                    .log("model '{}': its servers describe it alike again", model);
        } else {
            byModel.put(model, List.copyOf(drift));
            LOG.atWarn()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("model", model)
                    .log(
                            "model '{}': its servers describe it differently (all of it: GET /drift); load the same"
                                    + " model on them: {}",
                            model,
                            text(drift));
        }
    }

    private static String text(List<Drift> drift) {
        StringBuilder text = new StringBuilder();
        for (Drift difference : drift) {
            text.append(text.isEmpty() ? "" : "; ").append(difference.text());
            if (text.length() > MetadataLimits.REPORT) {
                break;
            }
        }
        return MetadataLimits.cut(text.toString(), MetadataLimits.REPORT);
    }

    /** The number of differences for the model. */
    int count(String model) {
        List<Drift> drift = byModel.getIfPresent(model);
        return drift == null ? 0 : drift.size();
    }

    /** The differences of each model that has some, each with its server. */
    Map<String, List<String>> texts() {
        return byModel.asMap().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey,
                        drift -> drift.getValue().stream().map(Drift::text).toList()));
    }

    ObjectNode document() {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        ArrayNode models = json.putArray("models");
        new TreeMap<>(byModel.asMap()).forEach((model, drift) -> {
            add(models.addObject().put("name", model).putArray("drift"), drift);
        });
        return json;
    }

    /** The differences of one model. */
    ArrayNode document(String model) {
        ArrayNode list = JsonNodeFactory.instance.arrayNode();
        List<Drift> drift = byModel.getIfPresent(model);
        add(list, drift == null ? List.of() : drift);
        return list;
    }

    private static void add(ArrayNode list, List<Drift> drift) {
        for (Drift difference : drift) {
            list.addObject()
                    .put("upstream", difference.source().upstream())
                    .put("server", difference.source().label())
                    .put("kind", difference.kind().name())
                    .put("subject", difference.subject())
                    .put("merged", difference.merged())
                    .put("said", difference.said());
        }
    }
}

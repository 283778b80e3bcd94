package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.List;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where servers disagree about a model, as it was seen last; each change is logged once. Used on any thread. */
final class DriftLog {
    private static final Logger LOG = LoggerFactory.getLogger(DriftLog.class);
    private static final int MODELS = 10_000;

    private final Cache<String, List<Drift>> byModel =
            Caffeine.newBuilder().maximumSize(MODELS).executor(Runnable::run).build();

    void note(String model, List<Drift> drift) {
        List<Drift> before = byModel.getIfPresent(model);
        if (drift.equals(before == null ? List.of() : before)) {
            return;
        }
        if (drift.isEmpty()) {
            byModel.invalidate(model);
            LOG.info("model '{}': its servers agree again", model);
        } else {
            byModel.put(model, List.copyOf(drift));
            LOG.warn("model '{}': its servers disagree: {}", model, text(drift));
        }
    }

    private static String text(List<Drift> drift) {
        StringBuilder text = new StringBuilder();
        for (Drift one : drift) {
            text.append(text.isEmpty() ? "" : "; ")
                    .append(one.source().upstream())
                    .append(' ')
                    .append(one.source().label())
                    .append(": ")
                    .append(one.kind())
                    .append(one.subject().isEmpty() ? "" : " of " + one.subject())
                    .append(" '")
                    .append(one.said())
                    .append("', merged '")
                    .append(one.merged())
                    .append('\'');
            if (text.length() > MetadataLimits.REPORT) {
                break;
            }
        }
        return MetadataLimits.cut(text.toString(), MetadataLimits.REPORT);
    }

    /** How many differences the model has. */
    int count(String model) {
        List<Drift> drift = byModel.getIfPresent(model);
        return drift == null ? 0 : drift.size();
    }

    ObjectNode document() {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        ArrayNode models = json.putArray("models");
        new TreeMap<>(byModel.asMap()).forEach((model, drift) -> {
            ArrayNode list = models.addObject().put("name", model).putArray("drift");
            for (Drift one : drift) {
                list.addObject()
                        .put("upstream", one.source().upstream())
                        .put("server", one.source().label())
                        .put("kind", one.kind().name())
                        .put("subject", one.subject())
                        .put("merged", one.merged())
                        .put("said", one.said());
            }
        });
        return json;
    }
}

package dev.isthmus.gateway.logfile;

import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The share of calls that are logged: one for all models, others for names and patterns. Thread-safe. */
public final class ModelShares {
    private final double share;
    private final Map<String, Double> names;
    private final Map<ModelPattern, Double> patterns = new TreeMap<>();

    /**
     * Shares from 0 to 1.
     *
     * @param share of models that are not listed
     * @param models by name or pattern
     */
    public ModelShares(double share, Map<String, Double> models) {
        this.share = share;
        this.names = models.entrySet().stream()
                .filter(each -> !ModelPattern.is(each.getKey()))
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
        models.forEach((name, value) -> {
            if (ModelPattern.is(name)) {
                patterns.put(new ModelPattern(name), value);
            }
        });
    }

    /** Whether all models have the same share. */
    public boolean uniform() {
        return names.isEmpty() && patterns.isEmpty();
    }

    /** The share of a model; null for calls that name none. */
    public double of(@Nullable ModelRef model) {
        if (model == null || uniform()) {
            return share;
        }
        Double exact = names.get(model.name());
        if (exact != null) {
            return exact;
        }
        for (Map.Entry<ModelPattern, Double> each : patterns.entrySet()) {
            if (each.getKey().matches(model.name())) {
                return each.getValue();
            }
        }
        return share;
    }
}

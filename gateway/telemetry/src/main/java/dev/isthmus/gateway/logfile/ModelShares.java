package dev.isthmus.gateway.logfile;

import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The share of calls that are logged: one for all models, others for names and patterns. Thread-safe. */
public final class ModelShares {
    private final double share;
    private final Map<String, Double> models;
    private final List<ModelPattern> patterns;

    /**
     * Shares from 0 to 1.
     *
     * @param share of models that are not listed
     * @param models by name or pattern
     */
    public ModelShares(double share, Map<String, Double> models) {
        this.share = share;
        this.models = Map.copyOf(models);
        this.patterns = models.keySet().stream()
                .filter(ModelPattern::is)
                .map(ModelPattern::new)
                .sorted()
                .toList();
    }

    public boolean uniform() {
        return models.isEmpty();
    }

    /** The share of a model; null for calls that name none. */
    public double of(@Nullable ModelRef model) {
        if (model == null || uniform()) {
            return share;
        }
        Double exact = models.get(model.name());
        if (exact != null) {
            return exact;
        }
        for (ModelPattern each : patterns) {
            if (each.matches(model.name())) {
                return models.getOrDefault(each.text(), share);
            }
        }
        return share;
    }
}

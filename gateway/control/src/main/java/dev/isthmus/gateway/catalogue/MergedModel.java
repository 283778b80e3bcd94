package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One model as described by its replicas and targets together.
 *
 * @param metadata the tensors, parameters and properties of one of the servers, the most frequent platform, the versions of all
 * @param drift where servers of an upstream differ on the same model and version; at most 256 differences
 */
public record MergedModel(ModelMetadata metadata, List<Drift> drift) {

    public MergedModel {
        drift = List.copyOf(drift);
    }

    /**
     * Merges the servers' descriptions. The tensors are those of the first ready server that lists any; if there is
     * none, of the first that lists any, of the first ready one, or of the first.
     *
     * @param name the model's name for clients
     * @param sources in configuration order, which decides if servers disagree
     * @return empty without sources
     */
    public static Optional<MergedModel> of(String name, List<ModelDescription> sources) {
        if (sources.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new MergedModel(merged(name, sources), drift(name, sources)));
    }

    private static ModelMetadata merged(String name, List<ModelDescription> sources) {
        return form(sources).metadata().with(name, versions(sources), platform(sources));
    }

    /** Compares only replicas with each other; targets with other upstreams, names or versions differ on purpose. */
    private static List<Drift> drift(String name, List<ModelDescription> sources) {
        Map<UpstreamModel, List<ModelDescription>> replicas = new LinkedHashMap<>();
        sources.forEach(source -> replicas.computeIfAbsent(
                        new UpstreamModel(source.source().upstream(), source.requested()), each -> new ArrayList<>())
                .add(source));
        List<Drift> drift = new ArrayList<>();
        replicas.values().forEach(same -> {
            ModelMetadata together = merged(name, same);
            same.forEach(source -> new DriftDetector(source, together, drift).search());
        });
        return drift;
    }

    /** A model of an upstream, of which all its servers should have the same. */
    private record UpstreamModel(String upstream, ModelRef requested) {}

    private static ModelDescription form(List<ModelDescription> sources) {
        Optional<ModelDescription> best =
                first(sources.stream().filter(ModelDescription::namesTensors).toList());
        return best.or(() -> first(sources)).orElse(sources.getFirst());
    }

    private static Optional<ModelDescription> first(List<ModelDescription> sources) {
        return sources.stream()
                .filter(ModelDescription::ready)
                .findFirst()
                .or(() -> sources.stream().findFirst());
    }

    private static List<String> versions(Collection<ModelDescription> sources) {
        return sources.stream()
                .flatMap(source -> source.metadata().versions().stream())
                .distinct()
                .sorted(VersionOrder.ORDER)
                .limit(MetadataLimits.ENTRIES)
                .toList();
    }

    /** The most frequent platform; the first of equally frequent ones. */
    private static String platform(Collection<ModelDescription> sources) {
        Map<String, Integer> votes = new LinkedHashMap<>();
        for (ModelDescription source : sources) {
            if (!source.metadata().platform().isEmpty()) {
                votes.merge(source.metadata().platform(), 1, Integer::sum);
            }
        }
        String platform = "";
        int max = 0;
        for (Map.Entry<String, Integer> vote : votes.entrySet()) {
            if (vote.getValue() > max) {
                platform = vote.getKey();
                max = vote.getValue();
            }
        }
        return platform;
    }
}

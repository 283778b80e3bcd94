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
 * One model as its replicas and canary arms describe it together.
 *
 * @param metadata the tensors and parameters of one of the servers, the platform that most name, the versions of all
 * @param drift where servers that were asked for the same name and version say something else; at most 256
 */
public record MergedModel(ModelMetadata metadata, List<Drift> drift) {

    public MergedModel {
        drift = List.copyOf(drift);
    }

    /**
     * Merges what the servers say. The tensors are those of the first that is ready and names any; where there is none, of the
     * first that names any, of the first that is ready, or of the first.
     *
     * @param name the model's name for clients
     * @param sources in the order of the configuration, which decides where servers disagree
     * @return empty where there is no source
     */
    public static Optional<MergedModel> of(String name, List<ModelDescription> sources) {
        if (sources.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new MergedModel(merged(name, sources), drift(name, sources)));
    }

    private static ModelMetadata merged(String name, List<ModelDescription> sources) {
        ModelMetadata form = form(sources).metadata();
        return new ModelMetadata(
                name, versions(sources), platform(sources), form.inputs(), form.outputs(), form.parameters());
    }

    /** Replicas are compared with each other; targets with other names or versions differ because they are to. */
    private static List<Drift> drift(String name, List<ModelDescription> sources) {
        Map<ModelRef, List<ModelDescription>> replicas = new LinkedHashMap<>();
        sources.forEach(source -> replicas.computeIfAbsent(source.asked(), asked -> new ArrayList<>())
                .add(source));
        List<Drift> drift = new ArrayList<>();
        replicas.values().forEach(same -> {
            ModelMetadata together = merged(name, same);
            same.forEach(source -> new DriftDetector(source, together, drift).search());
        });
        return drift;
    }

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

    /** The one named most often, of several the one named first. */
    private static String platform(Collection<ModelDescription> sources) {
        Map<String, Integer> votes = new LinkedHashMap<>();
        for (ModelDescription source : sources) {
            if (!source.metadata().platform().isEmpty()) {
                votes.merge(source.metadata().platform(), 1, Integer::sum);
            }
        }
        String platform = "";
        int most = 0;
        for (Map.Entry<String, Integer> vote : votes.entrySet()) {
            if (vote.getValue() > most) {
                platform = vote.getKey();
                most = vote.getValue();
            }
        }
        return platform;
    }
}

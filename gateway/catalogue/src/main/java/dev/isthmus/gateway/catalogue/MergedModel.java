package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

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
        List<ModelDescription> naming =
                sources.stream().filter(ModelDescription::namesTensors).toList();
        List<ModelDescription> from = naming.isEmpty() ? sources : naming;
        return from.stream().filter(ModelDescription::ready).findFirst().orElse(from.getFirst());
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
        return sources.stream()
                .map(source -> source.metadata().platform())
                .filter(platform -> !platform.isEmpty())
                .collect(Collectors.groupingBy(Function.identity(), LinkedHashMap::new, Collectors.counting()))
                .entrySet()
                .stream()
                .reduce((one, other) -> other.getValue() > one.getValue() ? other : one)
                .map(Map.Entry::getKey)
                .orElse("");
    }

    /**
     * Compares one server's description with the merged description of its replicas; what the server omits is no
     * difference.
     */
    record DriftDetector(ModelDescription source, ModelMetadata merged, List<Drift> found) {

        void search() {
            ModelMetadata said = source.metadata();
            if (!said.platform().isEmpty() && !said.platform().equals(merged.platform())) {
                add(Drift.DriftKind.PLATFORM, "", merged.platform(), said.platform());
            }
            if (!said.versions().isEmpty() && !new HashSet<>(said.versions()).containsAll(merged.versions())) {
                add(Drift.DriftKind.VERSIONS, "", merged.versions().toString(), sorted(said.versions()));
            }
            if (source.namesTensors()) {
                tensors(
                        "input",
                        merged.inputs(),
                        said.inputs(),
                        Drift.DriftKind.INPUT_MISSING,
                        Drift.DriftKind.INPUT_EXTRA);
                tensors(
                        "output",
                        merged.outputs(),
                        said.outputs(),
                        Drift.DriftKind.OUTPUT_MISSING,
                        Drift.DriftKind.OUTPUT_EXTRA);
            }
        }

        private void tensors(
                String what,
                List<TensorMetadata> expected,
                List<TensorMetadata> said,
                Drift.DriftKind missing,
                Drift.DriftKind extra) {
            Map<String, TensorMetadata> unmatched = byName(said);
            byName(expected).forEach((name, tensor) -> {
                String subject = what + " '" + name + "'";
                TensorMetadata same = unmatched.remove(name);
                if (same == null) {
                    add(missing, subject, text(tensor), "");
                } else {
                    tensor(subject, tensor, same);
                }
            });
            unmatched.forEach((name, tensor) -> add(extra, what + " '" + name + "'", "", text(tensor)));
        }

        private void tensor(String subject, TensorMetadata expected, TensorMetadata said) {
            if (!expected.dataType().equals(said.dataType())) {
                add(Drift.DriftKind.DATATYPE, subject, expected.dataType(), said.dataType());
            }
            if (!expected.shape().equals(said.shape())) {
                add(
                        Drift.DriftKind.SHAPE,
                        subject,
                        expected.shape().toString(),
                        said.shape().toString());
            }
        }

        private void add(Drift.DriftKind kind, String subject, String expected, String said) {
            if (found.size() < MetadataLimits.DRIFTS) {
                found.add(new Drift(source.source(), kind, subject, expected, said));
            }
        }

        private static Map<String, TensorMetadata> byName(List<TensorMetadata> tensors) {
            Map<String, TensorMetadata> named = new LinkedHashMap<>();
            tensors.forEach(tensor -> named.putIfAbsent(tensor.name(), tensor));
            return named;
        }

        private static String text(TensorMetadata tensor) {
            return tensor.dataType() + tensor.shape();
        }

        private static String sorted(List<String> versions) {
            return versions.stream().sorted(VersionOrder.ORDER).toList().toString();
        }
    }

    /**
     * One difference between a server's description of a model and the merged description of its replicas.
     *
     * @param subject the input or output, such as {@code input 'x'}; empty if it concerns the model
     * @param merged the merged value; empty if absent
     * @param said the server's value; empty if absent
     */
    public record Drift(@JsonUnwrapped ServerId source, DriftKind kind, String subject, String merged, String said) {

        public Drift {
            subject = MetadataLimits.reason(subject);
            merged = MetadataLimits.reason(merged);
            said = MetadataLimits.reason(said);
        }

        /** The difference in one line, with its server. */
        String text() {
            return "server " + source.label() + " of upstream '" + source.upstream() + "': "
                    + switch (kind) {
                        case PLATFORM -> differs("platform");
                        case VERSIONS -> differs("versions");
                        case DATATYPE -> differs(subject + " has datatype");
                        case SHAPE -> differs(subject + " has shape");
                        case INPUT_MISSING, OUTPUT_MISSING -> subject + " is missing; other replicas have it";
                        case INPUT_EXTRA, OUTPUT_EXTRA -> subject + " is not on other replicas";
                    };
        }

        private String differs(String what) {
            return what + " " + said + "; other replicas: " + merged;
        }

        /** What differs. */
        public enum DriftKind {
            PLATFORM,
            /** The server lacks versions that others have. */
            VERSIONS,
            INPUT_MISSING,
            INPUT_EXTRA,
            OUTPUT_MISSING,
            OUTPUT_EXTRA,
            DATATYPE,
            SHAPE
        }
    }

    /**
     * One server's description of a model.
     *
     * @param requested the requested name and version, as in the target
     * @param ready whether the model is ready on the server
     */
    public record ModelDescription(ServerId source, ModelRef requested, boolean ready, ModelMetadata metadata) {

        /** False for KServe, and for MLServer models without settings, which list no tensors: they never disagree. */
        boolean namesTensors() {
            return !metadata.inputs().isEmpty() || !metadata.outputs().isEmpty();
        }
    }
}

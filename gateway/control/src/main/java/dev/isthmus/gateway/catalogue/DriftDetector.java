package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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

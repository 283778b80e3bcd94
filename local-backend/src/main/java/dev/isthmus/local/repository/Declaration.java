package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import java.util.List;

/** Checks a model's configuration against the model itself. */
public final class Declaration {
    /** The parameter of a tensor's metadata if the model does not say its shape. */
    public static final String ANY_SHAPE = "any_shape";

    private Declaration() {}

    /** Whether the model does not say the shape of a tensor. */
    public static boolean anyShape(TensorMetadata tensor) {
        return tensor.parameters().containsKey(ANY_SHAPE);
    }

    /**
     * Compares the configured tensors; tensors need not be configured.
     *
     * @throws OipException FAILED_PRECONDITION naming tensor, value and expectation
     */
    public static void require(ModelSettings settings, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
        settings.inputs().forEach(input -> require("input", input, inputs));
        settings.outputs().forEach(output -> require("output", output, outputs));
    }

    private static void require(String kind, TensorConfig configured, List<TensorMetadata> model) {
        TensorMetadata declared = configured.metadata();
        String what = "configuration: " + kind + " '" + declared.name() + "': ";
        TensorMetadata actual = model.stream()
                .filter(tensor -> tensor.name().equals(declared.name()))
                .findFirst()
                .orElseThrow(() -> refused(what + "the model has none of this name, but "
                        + model.stream().map(TensorMetadata::name).toList()));
        if (!actual.dataType().equals(declared.dataType())) {
            throw refused(what + "datatype " + declared.dataType() + ", but the model has " + actual.dataType());
        }
        if (!anyShape(actual) && !actual.shape().accepts(configured.inModel())) {
            throw refused(what + "shape " + configured.inModel() + ", but the model has " + actual.shape());
        }
    }

    private static OipException refused(String problem) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, problem);
    }
}

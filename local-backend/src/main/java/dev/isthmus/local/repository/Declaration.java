package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
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
        if (!anyShape(actual) && !fits(configured.inModel(), actual.shape())) {
            throw refused(what + "shape " + configured.inModel() + ", but the model has " + actual.shape());
        }
    }

    /** A variable extent of the model matches any configured extent. */
    private static boolean fits(Shape declared, Shape actual) {
        boolean fits = declared.rank() == actual.rank();
        for (int i = 0; fits && i < actual.rank(); i++) {
            fits = actual.extent(i) < 0 || actual.extent(i) == declared.extent(i);
        }
        return fits;
    }

    private static OipException refused(String problem) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, problem);
    }
}

package dev.isthmus.local.ort;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.List;

/**
 * An input or output of a model.
 *
 * @param index its index among the inputs or outputs
 * @param dimensions the names of its dimensions; empty for one without a name
 */
record TensorSpec(int index, TensorMetadata metadata, DataType type, List<String> dimensions) {

    String name() {
        return metadata.name();
    }

    /** The shape declared by the model; -1 for a variable extent. */
    Shape shape() {
        return metadata.shape();
    }

    /** Whether a tensor may have this shape. An extent of 0 is valid. */
    boolean fits(Shape given) {
        Shape shape = shape();
        boolean fits = given.rank() == shape.rank();
        for (int i = 0; fits && i < given.rank(); i++) {
            fits = shape.extent(i) < 0 || shape.extent(i) == given.extent(i);
        }
        return fits;
    }
}

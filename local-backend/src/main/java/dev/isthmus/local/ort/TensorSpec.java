package dev.isthmus.local.ort;

import dev.isthmus.local.repository.Declaration;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import java.util.List;
import java.util.Map;

/**
 * An input or output of a model.
 *
 * @param index its index among the inputs or outputs
 * @param dimensions the names of its dimensions; empty for one without a name
 */
record TensorSpec(int index, TensorMetadata metadata, DataType type, List<String> dimensions) {
    /** The parameter of an output's metadata with the labels of its columns. */
    static final String LABELS = "labels";

    /** A tensor whose shape, and even its rank, the model does not say. */
    static TensorSpec ofAnyShape(int index, String name, DataType type) {
        TensorMetadata metadata = new TensorMetadata(
                name, type.name(), Shape.of(-1), Map.of(Declaration.ANY_SHAPE, new Parameter.Bool(true)));
        return new TensorSpec(index, metadata, type, List.of(""));
    }

    boolean anyShape() {
        return Declaration.anyShape(metadata);
    }

    /** Whether its columns have labels, one each. */
    boolean labelled() {
        return metadata.parameters().containsKey(LABELS);
    }

    String name() {
        return metadata.name();
    }

    /** The shape declared by the model; -1 for a variable extent. */
    Shape shape() {
        return metadata.shape();
    }

    /** Whether a tensor may have this shape. An extent of 0 is valid. */
    boolean fits(Shape given) {
        if (anyShape()) {
            return true;
        }
        Shape shape = shape();
        boolean fits = given.rank() == shape.rank();
        for (int i = 0; fits && i < given.rank(); i++) {
            fits = shape.extent(i) < 0 || shape.extent(i) == given.extent(i);
        }
        return fits;
    }
}

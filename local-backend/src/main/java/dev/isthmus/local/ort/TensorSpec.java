package dev.isthmus.local.ort;

import dev.isthmus.local.repository.Declaration;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An input or output of a model.
 *
 * @param index its index among the inputs or outputs
 * @param metadata as clients see it
 * @param inModel its shape in the model; -1 for a variable extent
 * @param dimensions the names of its dimensions in the model; empty for one without a name
 * @param config how it is configured if that limits clients or changes its shape; null if not
 */
record TensorSpec(
        int index,
        TensorMetadata metadata,
        DataType type,
        Shape inModel,
        List<String> dimensions,
        @Nullable TensorConfig config) {
    /** The parameter of an output's metadata with the labels of its columns. */
    static final String LABELS = "labels";

    static TensorSpec of(int index, TensorMetadata metadata, DataType type, List<String> dimensions) {
        return new TensorSpec(index, metadata, type, metadata.shape(), dimensions, null);
    }

    /** A tensor whose shape, and even its rank, the model does not say. */
    static TensorSpec ofAnyShape(int index, String name, DataType type) {
        TensorMetadata metadata = new TensorMetadata(
                name, type.name(), Shape.of(-1), Map.of(Declaration.ANY_SHAPE, new Parameter.Bool(true)));
        return of(index, metadata, type, List.of(""));
    }

    /** This tensor with the dimensions of its configuration, in which the model's variable ones may be fixed. */
    TensorSpec limitedTo(TensorConfig configured) {
        Map<String, Parameter> parameters = new HashMap<>(metadata.parameters());
        parameters.remove(Declaration.ANY_SHAPE);
        TensorMetadata limited =
                new TensorMetadata(name(), type.name(), configured.metadata().shape(), parameters);
        return new TensorSpec(index, limited, type, inModel, dimensions, configured);
    }

    /** The shape of an input in the model. */
    Shape toModel(Shape given) {
        return config == null ? given : config.toModel(given);
    }

    /** The shape of an output for clients. */
    Shape toClient(Shape given) {
        return config == null ? given : config.toClient(given);
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

    /** The shape that clients give or get; -1 for a variable extent. */
    Shape shape() {
        return metadata.shape();
    }

    /** Whether a tensor may have this shape. An extent of 0 is valid. */
    boolean fits(Shape given) {
        return anyShape() || shape().accepts(given);
    }
}

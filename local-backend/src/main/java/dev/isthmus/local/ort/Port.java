package dev.isthmus.local.ort;

import ai.onnxruntime.TensorInfo;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An input or output of a model.
 *
 * @param index its place among the inputs, or the outputs
 * @param info of its type, of no shape; null where it is no session's
 * @param dimensions the names of its dimensions, each empty where it has none
 */
record Port(
        int index,
        TensorMetadata metadata,
        DataType type,
        @Nullable TensorInfo info,
        List<String> dimensions) {

    /** Of a session's input or output. */
    TensorInfo onnx() {
        return Objects.requireNonNull(info);
    }

    String name() {
        return metadata.name();
    }

    /** As the model states it: -1 for any extent. */
    Shape shape() {
        return metadata.shape();
    }

    /** Whether a tensor may have this shape. An extent of 0 is one as any other. */
    boolean fits(Shape given) {
        Shape shape = shape();
        boolean fits = given.rank() == shape.rank();
        for (int i = 0; fits && i < given.rank(); i++) {
            fits = shape.extent(i) < 0 || shape.extent(i) == given.extent(i);
        }
        return fits;
    }
}

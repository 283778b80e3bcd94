package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A configured input or output.
 *
 * @param metadata as clients see it, including the batch dimension
 * @param reshape its shape in the model if that is another one of as many elements; the variable extents of both are the
 *     same in this order
 * @param ragged whether {@code reshape} is one dimension for all elements, of several requests even: only the model could
 *     tell them apart
 */
public record TensorConfig(
        TensorMetadata metadata, @Nullable Shape reshape, boolean ragged) {

    public TensorConfig(TensorMetadata metadata, @Nullable Shape reshape) {
        this(metadata, reshape, false);
    }

    /** The one with this name. */
    public static Optional<TensorConfig> of(List<TensorConfig> configured, String name) {
        return configured.stream()
                .filter(each -> each.metadata().name().equals(name))
                .findFirst();
    }

    Shape inModel() {
        return reshape == null ? metadata.shape() : reshape;
    }

    /** The model's shape of a tensor that a client gives in a shape that fits. */
    public Shape toModel(Shape given) {
        if (reshape == null) {
            return given;
        }
        return ragged ? Shape.of(given.elementCount()) : view(given, metadata.shape(), reshape);
    }

    /**
     * The clients' shape of an output.
     *
     * @throws OipException INTERNAL if the model gives it another shape than configured
     */
    public Shape toClient(Shape given) {
        if (reshape == null) {
            return given;
        }
        if (!reshape.accepts(given)) {
            throw new OipException(
                    ErrorCode.INTERNAL,
                    "output '" + metadata.name() + "': shape " + reshape + " is configured, the model gives " + given);
        }
        return view(given, reshape, metadata.shape());
    }

    private static Shape view(Shape given, Shape from, Shape to) {
        long[] variable = LongStream.range(0, from.rank())
                .filter(i -> from.extent((int) i) < 0)
                .map(i -> given.extent((int) i))
                .toArray();
        long[] extents = to.toArray();
        int next = 0;
        for (int i = 0; i < extents.length; i++) {
            extents[i] = extents[i] < 0 ? variable[next++] : extents[i];
        }
        return Shape.of(extents);
    }
}

package dev.isthmus.local.ort;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Predicts an output's shape if the model declares it: each extent is a number, or has the name of an input's extent.
 * The output can then be preallocated.
 */
final class ShapeRule {
    /** An extent of an input, which is given by its index. */
    private record Source(int input, int dimension) {}

    /** An extent that is fixed, or equal to all of its sources. */
    private record Extent(long fixed, List<Source> sources) {}

    private final List<Extent> extents;
    private final @Nullable Shape fixed;

    private ShapeRule(List<Extent> extents, @Nullable Shape fixed) {
        this.extents = extents;
        this.fixed = fixed;
    }

    /** The rule for an output; null if its shape is known only after a run. */
    static @Nullable ShapeRule of(TensorSpec output, List<TensorSpec> inputs) {
        // An input that is also an output is returned unchanged.
        boolean input = inputs.stream().anyMatch(each -> each.name().equals(output.name()));
        if (output.type() == DataType.BYTES || input) {
            return null;
        }
        List<Extent> extents = new ArrayList<>();
        for (int i = 0; i < output.inModel().rank(); i++) {
            Extent extent = new Extent(
                    output.inModel().extent(i), sources(output.dimensions().get(i), inputs));
            if (extent.fixed < 0 && extent.sources.isEmpty()) {
                return null;
            }
            extents.add(extent);
        }
        boolean fixed = extents.stream().allMatch(extent -> extent.fixed >= 0);
        return new ShapeRule(List.copyOf(extents), fixed ? output.inModel() : null);
    }

    private static List<Source> sources(String name, List<TensorSpec> inputs) {
        List<Source> sources = new ArrayList<>();
        for (TensorSpec input : inputs) {
            for (int i = 0; !name.isEmpty() && i < input.dimensions().size(); i++) {
                if (input.dimensions().get(i).equals(name)) {
                    sources.add(new Source(input.index(), i));
                }
            }
        }
        return List.copyOf(sources);
    }

    /** The shape for a run with these inputs; null if they contradict each other. */
    @Nullable
    Shape shape(NativeArguments arguments) {
        if (fixed != null) {
            return fixed;
        }
        long[] shape = new long[extents.size()];
        for (int i = 0; i < shape.length; i++) {
            shape[i] = extent(extents.get(i), arguments);
            if (shape[i] < 0) {
                return null;
            }
        }
        return Shape.of(shape);
    }

    private static long extent(Extent extent, NativeArguments arguments) {
        long value = extent.fixed;
        for (int i = 0; extent.fixed < 0 && i < extent.sources.size(); i++) {
            Source source = extent.sources.get(i);
            long given = arguments.inputShape(source.input).extent(source.dimension);
            if (i > 0 && given != value) {
                return -1;
            }
            value = given;
        }
        return value;
    }
}

package dev.isthmus.local.translate;

import ai.djl.ndarray.types.Shape;
import java.util.stream.IntStream;

/** Computes other shapes for the same elements. */
final class Reshape {
    private Reshape() {}

    /**
     * The requested shape, in which one extent may be -1.
     *
     * @throws IllegalArgumentException if the number of elements differs
     */
    static Shape reshaped(Shape from, Shape wanted) {
        long known = 1;
        int open = -1;
        for (int i = 0; i < wanted.dimension(); i++) {
            if (wanted.get(i) >= 0) {
                known = Math.multiplyExact(known, wanted.get(i));
            } else if (open >= 0) {
                throw new IllegalArgumentException("shape " + wanted + " has more than one open extent");
            } else {
                open = i;
            }
        }
        long count = from.size();
        boolean fits = open < 0 ? known == count : known > 0 && count % known == 0;
        if (!fits) {
            throw new IllegalArgumentException("shape " + from + " cannot become " + wanted);
        }
        return open < 0 ? wanted : Shape.update(wanted, open, count / known);
    }

    /** The shape with an extent of 1 inserted at an axis; a negative axis counts from the end. */
    static Shape expanded(Shape from, int axis) {
        int at = axis < 0 ? axis + from.dimension() + 1 : axis;
        return from.slice(0, at).add(1).addAll(from.slice(at));
    }

    /**
     * The shape without extents of 1.
     *
     * @param axes the axes to remove; none for all
     */
    static Shape squeezed(Shape from, int... axes) {
        int rank = from.dimension();
        return new Shape(IntStream.range(0, rank)
                .filter(i -> from.get(i) != 1
                        || (axes.length > 0
                                && IntStream.of(axes).noneMatch(axis -> i == (axis < 0 ? axis + rank : axis))))
                .mapToLong(from::get)
                .toArray());
    }
}

package dev.isthmus.oip;

import java.util.Arrays;
import java.util.List;

/**
 * The extents of a tensor's dimensions, outermost first. {@code []} is a scalar with one element; an extent of 0 makes
 * a tensor without elements. In metadata, -1 is a dimension of variable size.
 */
public final class Shape {
    /** More dimensions than any known server supports. */
    public static final int MAX_RANK = 16;

    public static final Shape SCALAR = new Shape(new long[0]);

    private final long[] extents;

    private Shape(long[] extents) {
        this.extents = extents;
    }

    public static Shape of(long... extents) {
        return of(extents, extents.length);
    }

    public static Shape of(List<Long> extents) {
        return new Shape(extents.stream().mapToLong(Long::longValue).toArray());
    }

    /** The shape of the first extents; the array is copied. */
    public static Shape of(long[] extents, int rank) {
        return rank == 0 ? SCALAR : new Shape(Arrays.copyOf(extents, rank));
    }

    /** The same shape, which is not a scalar's, with another first extent. */
    public Shape withFirst(long extent) {
        long[] other = extents.clone();
        other[0] = extent;
        return new Shape(other);
    }

    public int rank() {
        return extents.length;
    }

    public long extent(int dimension) {
        return extents[dimension];
    }

    public long[] toArray() {
        return extents.clone();
    }

    public List<Long> toList() {
        return Arrays.stream(extents).boxed().toList();
    }

    /**
     * The number of elements.
     *
     * @throws ArithmeticException if it does not fit into 63 bits, or an extent is negative
     */
    public long elementCount() {
        boolean empty = false;
        long count = 1;
        for (long extent : extents) {
            if (extent < 0) {
                throw new ArithmeticException("negative extent");
            }
            if (extent == 0) {
                empty = true;
            } else {
                count = Math.multiplyExact(count, extent);
            }
        }
        return empty ? 0 : count;
    }

    /** Whether a tensor of this shape, of a model's metadata, may have the other one. */
    public boolean accepts(Shape given) {
        boolean fits = given.rank() == rank();
        for (int i = 0; fits && i < extents.length; i++) {
            fits = extents[i] < 0 || extents[i] == given.extents[i];
        }
        return fits;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape shape && Arrays.equals(extents, shape.extents);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(extents);
    }

    /** The JSON form: {@code [1,3]}. */
    @Override
    public String toString() {
        return Arrays.toString(extents).replace(" ", "");
    }
}

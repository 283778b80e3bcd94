package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;

/** The comparison of an output with the output of the same name in another response. */
public sealed interface OutputComparison {

    String name();

    /** Whether all elements are equal; NaN equals NaN, and 0.0 equals -0.0. */
    boolean equal();

    /** Two outputs that cannot be compared element by element. */
    record Unlike(String name, Reason reason) implements OutputComparison {
        @Override
        public boolean equal() {
            return false;
        }
    }

    /** Why outputs cannot be compared element by element. */
    enum Reason {
        /** Only the second response has it. */
        NOT_IN_FIRST,
        /** Only the first response has it. */
        NOT_IN_SECOND,
        DATATYPE,
        SHAPE,
        /** Its elements are in shared memory, not in the responses. */
        SHARED_MEMORY
    }

    /**
     * Two numeric outputs.
     *
     * @param elements the number of elements of each output
     * @param maxDifference the largest absolute difference of two elements; infinite if a NaN or an infinity is
     *     compared with a different value
     * @param cosine the cosine similarity of the two as vectors, from -1 to 1. It is 1 if both are zero or empty, and 0
     *     if only one is zero, or if a NaN or an infinity is compared with a different value; equal non-finite elements
     *     are left out
     * @param sameArgmax the share of rows, along the last axis, whose largest element has the same index in both, from
     *     0 to 1; 1 if there are no rows. As in NumPy, the first of several counts, and NaN is larger than any number
     */
    record Numbers(
            String name, DataType dataType, long elements, double maxDifference, double cosine, double sameArgmax)
            implements OutputComparison {
        @Override
        public boolean equal() {
            return maxDifference == 0;
        }
    }

    /**
     * Two outputs of BOOL or BYTES.
     *
     * @param elements the number of elements of each output
     * @param equalElements the number of elements equal to the other output's at the same index
     */
    record Elements(String name, DataType dataType, long elements, long equalElements) implements OutputComparison {

        /** The share of equal elements, from 0 to 1; 1 if there are no elements. */
        public double equalShare() {
            return elements == 0 ? 1 : (double) equalElements / elements;
        }

        @Override
        public boolean equal() {
            return equalElements == elements;
        }
    }
}

package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;

/** How an output of one answer stands to the output of the same name in another. */
public sealed interface OutputComparison {

    /** The output's. */
    String name();

    /** Whether the two are equal, element by element; NaN equals NaN, and the two zeros each other. */
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
        /** Only the second answer has it. */
        NOT_IN_FIRST,
        /** Only the first answer has it. */
        NOT_IN_SECOND,
        DATATYPE,
        SHAPE,
        /** Its elements are in memory that is not the answers'. */
        SHARED_MEMORY
    }

    /**
     * Two outputs of numbers.
     *
     * @param elements how many each has
     * @param maxDifference the largest absolute difference of two elements; infinite where a NaN or an infinity stands against
     *     anything else
     * @param cosine similarity of the two as vectors, from -1 to 1. 1 where both are zero or without elements, 0 where one is
     *     zero, or where a NaN or an infinity stands against anything else; where they stand against their like they are left
     *     out
     * @param sameArgmax the share of rows, along the last axis, whose largest element is at the same place in both, from 0 to
     *     1. The first of several counts, and NaN as larger than any number, as in NumPy; 1 where there are no rows
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
     * @param elements how many each has
     * @param equalElements how many of them are equal to the other's at their place
     */
    record Elements(String name, DataType dataType, long elements, long equalElements) implements OutputComparison {

        /** From 0 to 1; 1 where there are no elements. */
        public double equalShare() {
            return elements == 0 ? 1 : (double) equalElements / elements;
        }

        @Override
        public boolean equal() {
            return equalElements == elements;
        }
    }
}

package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;

/**
 * Compares two numeric tensors of the same datatype and shape: one pass for everything but the cosine, which takes a
 * second pass if there is any difference, scaled so that squares do not overflow.
 */
final class NumberComparison {
    private final Tensor first;
    private final DataType type;
    private final ByteBuf a;
    private final ByteBuf b;
    private double maxDifference;
    private double largestA;
    private double largestB;
    /** Whether a NaN or an infinity is compared with a different value. */
    private boolean apart;

    /** Both tensors are borrowed. */
    NumberComparison(Tensor first, Tensor second) {
        this.first = first;
        this.type = first.dataType();
        this.a = first.data();
        this.b = second.data();
    }

    OutputComparison result() {
        Shape shape = first.shape();
        long elements = shape.elementCount();
        double sameArgmax = elements == 0 ? 1 : sameArgmax(elements, rowLength(shape));
        return new OutputComparison.Numbers(first.name(), type, elements, maxDifference, cosine(), sameArgmax);
    }

    private static long rowLength(Shape shape) {
        return shape.rank() == 0 ? 1 : shape.extent(shape.rank() - 1);
    }

    private double sameArgmax(long elements, long rowLength) {
        long same = 0;
        long rows = elements / rowLength;
        int row = Math.toIntExact(rowLength * type.size());
        for (int from = 0; from < a.readableBytes(); from += row) {
            same += row(from, from + row) ? 1 : 0;
        }
        return (double) same / rows;
    }

    /** Compares the row between these offsets; returns whether both have their largest element at the same index. */
    private boolean row(int from, int to) {
        long maxA = Long.MIN_VALUE;
        long maxB = Long.MIN_VALUE;
        int argmaxA = from;
        int argmaxB = from;
        for (int at = from; at < to; at += type.size()) {
            long keyA = NumberKey.read(type, a, a.readerIndex() + at);
            long keyB = NumberKey.read(type, b, b.readerIndex() + at);
            if (keyA > maxA) {
                maxA = keyA;
                argmaxA = at;
            }
            if (keyB > maxB) {
                maxB = keyB;
                argmaxB = at;
            }
            element(keyA, keyB);
        }
        return argmaxA == argmaxB;
    }

    private void element(long keyA, long keyB) {
        maxDifference = Math.max(maxDifference, NumberKey.difference(type, keyA, keyB));
        double valueA = Math.abs(NumberKey.value(type, keyA));
        double valueB = Math.abs(NumberKey.value(type, keyB));
        if (Double.isFinite(valueA) && Double.isFinite(valueB)) {
            largestA = Math.max(largestA, valueA);
            largestB = Math.max(largestB, valueB);
        } else {
            apart |= keyA != keyB;
        }
    }

    private double cosine() {
        if (maxDifference == 0) {
            return 1;
        }
        if (apart || largestA == 0 || largestB == 0) {
            return 0;
        }
        double product = 0;
        double squareA = 0;
        double squareB = 0;
        for (int at = 0; at < a.readableBytes(); at += type.size()) {
            double valueA = NumberKey.value(type, NumberKey.read(type, a, a.readerIndex() + at)) / largestA;
            double valueB = NumberKey.value(type, NumberKey.read(type, b, b.readerIndex() + at)) / largestB;
            if (Double.isFinite(valueA)) {
                product += valueA * valueB;
                squareA += valueA * valueA;
                squareB += valueB * valueB;
            }
        }
        return Math.clamp(product / (Math.sqrt(squareA) * Math.sqrt(squareB)), -1, 1);
    }
}

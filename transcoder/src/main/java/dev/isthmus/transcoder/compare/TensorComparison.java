package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.compare.OutputComparison.Reason;
import dev.isthmus.transcoder.compare.OutputComparison.Unlike;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Compares two responses to the same request in place: elements are not copied. */
public final class TensorComparison {
    private static final int LENGTH_PREFIX = 4;

    private TensorComparison() {}

    /**
     * Compares outputs of the same name, whatever their order. The time is linear in the size of the outputs, which the
     * caller must limit; not for event loops.
     *
     * @param first borrowed; its indices are not moved
     * @param second as {@code first}
     * @return one comparison per name, in the order of {@code first}, followed by the outputs that only {@code second}
     *     has
     */
    public static List<OutputComparison> of(InferResponse first, InferResponse second) {
        Map<String, Tensor> others = new HashMap<>();
        second.outputs().forEach(output -> others.put(output.name(), output));
        List<OutputComparison> outputs = new ArrayList<>();
        for (Tensor output : first.outputs()) {
            Tensor other = others.remove(output.name());
            outputs.add(other == null ? new Unlike(output.name(), Reason.NOT_IN_SECOND) : of(output, other));
        }
        for (Tensor output : second.outputs()) {
            if (others.containsKey(output.name())) {
                outputs.add(new Unlike(output.name(), Reason.NOT_IN_FIRST));
            }
        }
        return List.copyOf(outputs);
    }

    private static OutputComparison of(Tensor first, Tensor second) {
        if (first.dataType() != second.dataType()) {
            return new Unlike(first.name(), Reason.DATATYPE);
        }
        if (!first.shape().equals(second.shape())) {
            return new Unlike(first.name(), Reason.SHAPE);
        }
        if (first.shared() || second.shared()) {
            return new Unlike(first.name(), Reason.SHARED_MEMORY);
        }
        return switch (first.dataType()) {
            case BOOL -> elements(first, equalBools(first.data(), second.data()));
            case BYTES -> elements(first, equalBytes(first.data(), second.data()));
            case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64 ->
                new NumberComparison(first, second).result();
        };
    }

    private static OutputComparison elements(Tensor tensor, long equal) {
        DataType type = tensor.dataType();
        return new OutputComparison.Elements(tensor.name(), type, tensor.shape().elementCount(), equal);
    }

    private static long equalBools(ByteBuf first, ByteBuf second) {
        long equal = 0;
        int other = second.readerIndex();
        for (int at = first.readerIndex(); at < first.writerIndex(); at++) {
            equal += (first.getByte(at) == 0) == (second.getByte(other++) == 0) ? 1 : 0;
        }
        return equal;
    }

    private static long equalBytes(ByteBuf first, ByteBuf second) {
        long equal = 0;
        int other = second.readerIndex();
        for (int at = first.readerIndex(); at < first.writerIndex(); ) {
            int length = first.getIntLE(at);
            int otherLength = second.getIntLE(other);
            at += LENGTH_PREFIX;
            other += LENGTH_PREFIX;
            equal += length == otherLength && ByteBufUtil.equals(first, at, second, other, length) ? 1 : 0;
            at += length;
            other += otherLength;
        }
        return equal;
    }

    /**
     * Compares two numeric tensors of the same datatype and shape: one pass for everything but the cosine, which takes a
     * second pass if there is any difference, scaled so that squares do not overflow.
     */
    private static final class NumberComparison {
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
}

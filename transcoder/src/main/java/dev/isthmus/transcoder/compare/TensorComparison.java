package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
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
}

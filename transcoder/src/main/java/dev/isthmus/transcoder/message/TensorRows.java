package dev.isthmus.transcoder.message;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/** Tensors divided along their first dimension, into parts that share their memory. */
public final class TensorRows {
    private TensorRows() {}

    /** Whether a tensor has its elements in it, and this number of rows. */
    public static boolean has(Tensor tensor, long rows) {
        return !tensor.shared() && tensor.shape().rank() > 0 && tensor.shape().extent(0) == rows;
    }

    /**
     * The tensors of each part, owned by the caller.
     *
     * @param tensors borrowed; each has as many rows as all parts
     * @param rows of each part
     */
    public static List<List<Tensor>> split(List<Tensor> tensors, List<Integer> rows) {
        List<List<Tensor>> parts = new ArrayList<>(rows.size());
        int[] offsets = new int[tensors.size()];
        try {
            for (int count : rows) {
                List<Tensor> part = new ArrayList<>(offsets.length);
                parts.add(part);
                for (int i = 0; i < offsets.length; i++) {
                    Tensor next = slice(tensors.get(i), offsets[i], count);
                    offsets[i] += next.data().readableBytes();
                    part.add(next);
                }
            }
            return parts;
        } catch (RuntimeException | Error failure) {
            parts.forEach(part -> part.forEach(Tensor::release));
            throw failure;
        }
    }

    private static Tensor slice(Tensor tensor, int offset, int rows) {
        Shape shape = tensor.shape().withFirst(rows);
        int from = tensor.data().readerIndex() + offset;
        int length = tensor.dataType() == DataType.BYTES
                ? lengthOfElements(tensor.data(), from, shape.elementCount())
                : Math.toIntExact(shape.elementCount() * tensor.dataType().size());
        ByteBuf data = tensor.data().retainedSlice(from, length);
        return new Tensor(tensor.name(), tensor.dataType(), shape, tensor.parameters(), data);
    }

    /** The bytes of this many BYTES elements, which were checked to be complete, with their lengths. */
    private static int lengthOfElements(ByteBuf data, int from, long elements) {
        int at = from;
        for (long i = 0; i < elements; i++) {
            at += Integer.BYTES + data.getIntLE(at);
        }
        return at - from;
    }
}

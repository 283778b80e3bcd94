package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tensors joined and split along their first dimension, without copying all but small ones. */
final class RowTensors {
    private static final int LENGTH_PREFIX = 4;

    private RowTensors() {}

    /**
     * One request with the rows of all, in their order, and the id of the first.
     *
     * @param requests with equal keys; taken
     */
    static InferRequest join(ByteBufAllocator allocator, List<JoinableRequest> requests) {
        InferRequest first = requests.getFirst().request();
        long rows = requests.stream().mapToLong(JoinableRequest::rows).sum();
        List<Tensor> inputs = new ArrayList<>();
        try {
            for (int i = 0; i < first.inputs().size(); i++) {
                Tensor input = first.inputs().get(i);
                inputs.add(new Tensor(
                        input.name(),
                        input.dataType(),
                        withRows(input.shape(), rows),
                        input.parameters(),
                        joined(allocator, requests, i)));
            }
            return new InferRequest(first.model(), first.id(), first.parameters(), inputs, first.outputs());
        } catch (RuntimeException | OutOfMemoryError e) {
            inputs.forEach(Tensor::release);
            throw e;
        } finally {
            requests.forEach(JoinableRequest::release);
        }
    }

    /** The data of one input of all requests (borrowed). */
    private static ByteBuf joined(ByteBufAllocator allocator, List<JoinableRequest> requests, int input) {
        CompositeByteBuf data = allocator.compositeBuffer(Integer.MAX_VALUE);
        try {
            for (JoinableRequest each : requests) {
                SmallParts.append(
                        data, each.request().inputs().get(input).data().retain());
            }
            return SmallParts.complete(data);
        } catch (RuntimeException | OutOfMemoryError e) {
            data.release();
            throw e;
        }
    }

    /**
     * One response for each owner; they share the memory.
     *
     * @param response taken
     * @return null if an output does not have a row for each row
     */
    static @Nullable List<InferResponse> split(InferResponse response, RowOwners owners) {
        List<List<Tensor>> outputs = new ArrayList<>();
        try {
            for (Tensor output : response.outputs()) {
                if (!hasRows(output, owners.total())) {
                    outputs.forEach(parts -> parts.forEach(Tensor::release));
                    return null;
                }
                List<Tensor> parts = new ArrayList<>();
                outputs.add(parts);
                split(output, owners.rows(), parts);
            }
            List<InferResponse> parts = new ArrayList<>();
            for (int i = 0; i < owners.rows().size(); i++) {
                int part = i;
                parts.add(new InferResponse(
                        response.model(),
                        owners.id(i, response.id()),
                        response.parameters(),
                        outputs.stream().map(each -> each.get(part)).toList()));
            }
            return parts;
        } catch (RuntimeException e) {
            outputs.forEach(parts -> parts.forEach(Tensor::release));
            throw e;
        } finally {
            response.release();
        }
    }

    /** Whether the first dimension of a tensor is this number of rows. */
    private static boolean hasRows(Tensor tensor, long rows) {
        return !tensor.shared() && tensor.shape().rank() > 0 && tensor.shape().extent(0) == rows;
    }

    /** Adds parts with so many rows each, which share the tensor's memory. */
    private static void split(Tensor tensor, List<Integer> rows, List<Tensor> parts) {
        ByteBuf data = tensor.data();
        long total = tensor.shape().extent(0);
        int at = data.readerIndex();
        for (int count : rows) {
            int end = tensor.dataType() == DataType.BYTES
                    ? endOfElements(data, at, tensor.shape().elementCount() / total * count)
                    : at + Math.toIntExact(data.readableBytes() / total * count);
            parts.add(new Tensor(
                    tensor.name(),
                    tensor.dataType(),
                    withRows(tensor.shape(), count),
                    tensor.parameters(),
                    data.retainedSlice(at, end - at)));
            at = end;
        }
    }

    /** The position behind this many BYTES elements, which were checked to be complete. */
    private static int endOfElements(ByteBuf data, int from, long elements) {
        int at = from;
        for (long i = 0; i < elements; i++) {
            at += LENGTH_PREFIX + Math.toIntExact(data.getUnsignedIntLE(at));
        }
        return at;
    }

    private static Shape withRows(Shape shape, long rows) {
        long[] extents = shape.toArray();
        extents[0] = rows;
        return Shape.of(extents);
    }
}

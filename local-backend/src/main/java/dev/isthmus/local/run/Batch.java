package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Several requests run as one: their inputs are concatenated along the first dimension, and each output is sliced. The
 * inputs are copied once, the outputs never. BYTES can be batched too, because their elements have lengths.
 *
 * @param requests the requests, which are {@linkplain BatchKey#alike alike}; borrowed
 */
record Batch(OnnxModel model, List<InferRequest> requests) {

    /**
     * Runs the batch.
     *
     * @return the outputs of each request, owned by the caller
     * @throws OipException if the run fails, or an output does not have as many rows as the inputs; no request then has
     *     outputs
     */
    List<List<Tensor>> run(RunHandle handle, ByteBufAllocator allocator) {
        InferRequest whole = gather(allocator);
        List<Tensor> outputs;
        try {
            outputs = model.run(whole, handle, allocator);
        } finally {
            whole.release();
        }
        try {
            return scatter(outputs);
        } finally {
            outputs.forEach(Tensor::release);
        }
    }

    /** The concatenated request, owned by the caller. */
    InferRequest gather(ByteBufAllocator allocator) {
        InferRequest first = requests.getFirst();
        List<Tensor> inputs = new ArrayList<>(first.inputs().size());
        try {
            for (int i = 0; i < first.inputs().size(); i++) {
                inputs.add(gather(i, allocator));
            }
        } catch (RuntimeException | Error failure) {
            inputs.forEach(Tensor::release);
            throw failure;
        }
        return new InferRequest(first.model(), "", Map.of(), inputs, first.outputs());
    }

    /** One input of all requests, concatenated in direct memory. */
    private Tensor gather(int input, ByteBufAllocator allocator) {
        long bytes = 0;
        long rows = 0;
        for (InferRequest request : requests) {
            bytes += request.inputs().get(input).data().readableBytes();
            rows += rows(request);
        }
        if (bytes > Integer.MAX_VALUE) {
            throw new OipException(
                    ErrorCode.INTERNAL, "a batch of at most " + Integer.MAX_VALUE + " bytes is expected, got " + bytes);
        }
        Tensor like = requests.getFirst().inputs().get(input);
        long[] extents = like.shape().toArray();
        extents[0] = rows;
        ByteBuf data = OnnxModel.inputBuffer(allocator, (int) bytes);
        for (InferRequest request : requests) {
            ByteBuf part = request.inputs().get(input).data();
            data.writeBytes(part, part.readerIndex(), part.readableBytes());
        }
        return new Tensor(like.name(), like.dataType(), Shape.of(extents), Map.of(), data);
    }

    private static long rows(InferRequest request) {
        return request.inputs().getFirst().shape().extent(0);
    }

    /**
     * Slices the outputs per request; the slices are owned by the caller.
     *
     * @param outputs borrowed
     */
    List<List<Tensor>> scatter(List<Tensor> outputs) {
        long all = 0;
        for (InferRequest request : requests) {
            all += rows(request);
        }
        requireRows(outputs, all);
        List<List<Tensor>> parts = new ArrayList<>(requests.size());
        try {
            int[] offsets = new int[outputs.size()];
            for (InferRequest request : requests) {
                List<Tensor> part = new ArrayList<>(outputs.size());
                parts.add(part);
                slice(outputs, offsets, rows(request), all, part);
            }
            return parts;
        } catch (RuntimeException | Error failure) {
            parts.forEach(part -> part.forEach(Tensor::release));
            throw failure;
        }
    }

    /** Slices the next rows of each output. */
    private static void slice(List<Tensor> outputs, int[] offsets, long rows, long all, List<Tensor> into) {
        for (int i = 0; i < offsets.length; i++) {
            Tensor slice = slice(outputs.get(i), offsets[i], rows, all);
            offsets[i] += slice.data().readableBytes();
            into.add(slice);
        }
    }

    private void requireRows(List<Tensor> outputs, long rows) {
        for (Tensor output : outputs) {
            if (output.shape().rank() == 0 || output.shape().extent(0) != rows) {
                throw new OipException(
                        ErrorCode.INTERNAL,
                        "model " + model.ref() + ": output '" + output.name() + "' of a batch of " + rows
                                + " rows has the shape " + output.shape());
            }
        }
    }

    private static Tensor slice(Tensor output, int offset, long rows, long all) {
        long[] extents = output.shape().toArray();
        extents[0] = rows;
        Shape shape = Shape.of(extents);
        ByteBuf data = output.data();
        int from = data.readerIndex() + offset;
        int length = output.dataType() == DataType.BYTES
                ? lengthOfElements(data, from, shape.elementCount())
                : (int) (data.readableBytes() * rows / all);
        return new Tensor(
                output.name(), output.dataType(), shape, output.parameters(), data.retainedSlice(from, length));
    }

    /** The bytes of {@code elements} elements with their lengths. */
    private static int lengthOfElements(ByteBuf data, int from, long elements) {
        int at = from;
        for (long i = 0; i < elements; i++) {
            at += Integer.BYTES + data.getIntLE(at);
        }
        return at - from;
    }
}

package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorRows;
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
        ByteBuf data = OnnxModel.inputBuffer(allocator, (int) bytes);
        for (InferRequest request : requests) {
            ByteBuf part = request.inputs().get(input).data();
            data.writeBytes(part, part.readerIndex(), part.readableBytes());
        }
        return new Tensor(like.name(), like.dataType(), like.shape().withFirst(rows), Map.of(), data);
    }

    private static int rows(InferRequest request) {
        return (int) request.inputs().getFirst().shape().extent(0);
    }

    /**
     * Slices the outputs per request; the slices are owned by the caller.
     *
     * @param outputs borrowed
     */
    List<List<Tensor>> scatter(List<Tensor> outputs) {
        List<Integer> rows = requests.stream().map(Batch::rows).toList();
        long all = rows.stream().mapToLong(Integer::longValue).sum();
        for (Tensor output : outputs) {
            if (!TensorRows.has(output, all)) {
                throw new OipException(
                        ErrorCode.INTERNAL,
                        "model " + model.ref() + ": output '" + output.name() + "' of a batch of " + all
                                + " rows has the shape " + output.shape());
            }
        }
        return TensorRows.split(outputs, rows);
    }
}

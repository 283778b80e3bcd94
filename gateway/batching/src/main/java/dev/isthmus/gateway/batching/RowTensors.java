package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.message.TensorRows;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tensors joined and split along their first dimension, without copying all but small ones. */
final class RowTensors {
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
                        input.shape().withFirst(rows),
                        input.parameters(),
                        joined(allocator, requests, i)));
            }
            return new InferRequest(first.model(), first.id(), first.parameters(), inputs, first.outputs());
        } finally {
            requests.forEach(JoinableRequest::release);
        }
    }

    /** The data of one input of all requests (borrowed). */
    private static ByteBuf joined(ByteBufAllocator allocator, List<JoinableRequest> requests, int input) {
        CompositeByteBuf data = allocator.compositeBuffer(Integer.MAX_VALUE);
        for (JoinableRequest each : requests) {
            SmallParts.append(data, each.request().inputs().get(input).data().retain());
        }
        return SmallParts.complete(data);
    }

    /**
     * One response for each owner; they share the memory.
     *
     * @param response taken
     * @return null if an output does not have a row for each row
     */
    static @Nullable List<InferResponse> split(InferResponse response, RowOwners owners) {
        try {
            int rows = owners.total();
            if (!response.outputs().stream().allMatch(output -> TensorRows.has(output, rows))) {
                return null;
            }
            List<List<Tensor>> outputs = TensorRows.split(response.outputs(), owners.rows());
            List<InferResponse> parts = new ArrayList<>();
            for (int i = 0; i < outputs.size(); i++) {
                String id = owners.id(i, response.id());
                parts.add(new InferResponse(response.model(), id, response.parameters(), outputs.get(i)));
            }
            return parts;
        } finally {
            response.release();
        }
    }
}

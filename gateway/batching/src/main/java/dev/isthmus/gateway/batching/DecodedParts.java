package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The parts of a decoded response. */
final class DecodedParts {
    private DecodedParts() {}

    /**
     * One response for each owner; they share the memory.
     *
     * @param response taken
     * @return null if an output does not have a row for each row
     */
    static @Nullable List<InferResponse> of(InferResponse response, RowOwners owners) {
        List<Tensor> tensors = new ArrayList<>();
        try {
            long total = owners.total();
            if (!response.outputs().stream().allMatch(output -> RowTensors.hasRows(output, total))) {
                return null;
            }
            response.outputs().forEach(output -> RowTensors.split(output, owners.rows(), tensors::add));
            return parts(response, owners, tensors);
        } catch (RuntimeException e) {
            tensors.forEach(Tensor::release);
            throw e;
        } finally {
            response.release();
        }
    }

    /** @param tensors of one output after the other, the parts of all owners */
    private static List<InferResponse> parts(InferResponse response, RowOwners owners, List<Tensor> tensors) {
        int count = owners.ids().size();
        List<InferResponse> parts = new ArrayList<>(count);
        for (int part = 0; part < count; part++) {
            List<Tensor> outputs = new ArrayList<>(response.outputs().size());
            for (int at = part; at < tensors.size(); at += count) {
                outputs.add(tensors.get(at));
            }
            parts.add(new InferResponse(
                    response.model(), id(response.id(), owners.ids().get(part)), response.parameters(), outputs));
        }
        return parts;
    }

    /**
     * The messages of the parts.
     *
     * @param parts taken
     * @param writer takes a part, even if it fails
     */
    static List<InferMessage> written(List<InferResponse> parts, Function<InferResponse, InferMessage> writer) {
        List<InferMessage> written = new ArrayList<>(parts.size());
        int begun = 0;
        try {
            for (InferResponse part : parts) {
                begun++;
                written.add(writer.apply(part));
            }
            return written;
        } catch (RuntimeException | OutOfMemoryError e) {
            written.forEach(InferMessage::release);
            parts.subList(begun, parts.size()).forEach(InferResponse::release);
            throw e;
        }
    }

    /**
     * The id of a part: that of its request if the server repeats ids; one of its own if the server makes ids.
     *
     * @param server the server's id; empty for none
     * @param own the request's; empty for none
     */
    static String id(String server, String own) {
        if (server.isEmpty() || !own.isEmpty()) {
            return server.isEmpty() ? "" : own;
        }
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new UUID(random.nextLong(), random.nextLong()).toString();
    }
}

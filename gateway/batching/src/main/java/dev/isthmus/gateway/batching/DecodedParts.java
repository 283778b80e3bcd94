package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
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
        try {
            long total = owners.total();
            if (!response.outputs().stream().allMatch(output -> RowTensors.hasRows(output, total))) {
                return null;
            }
            List<List<Tensor>> outputs = response.outputs().stream()
                    .map(output -> RowTensors.split(output, owners.rows()))
                    .toList();
            List<InferResponse> parts = new ArrayList<>();
            for (int i = 0; i < owners.ids().size(); i++) {
                int part = i;
                parts.add(new InferResponse(
                        response.model(),
                        id(response.id(), owners.ids().get(i)),
                        response.parameters(),
                        outputs.stream().map(each -> each.get(part)).toList()));
            }
            return parts;
        } finally {
            response.release();
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

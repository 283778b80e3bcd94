package dev.isthmus.gateway.batching;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the requests to be joined, and divides the responses, on one wire. Thread-safe. */
interface JoinCodec {

    /**
     * What {@link #read} has found.
     *
     * @param request owned by the receiver
     */
    record ReadRequest(InferRequest request, JoinForm form) {}

    /**
     * Who gets which part of a response, in their order.
     *
     * @param ids empty strings for requests without one
     * @param rows of each request
     */
    record RowOwners(List<String> ids, List<Integer> rows) {
        int total() {
            return rows.stream().mapToInt(Integer::intValue).sum();
        }
    }

    /**
     * Decodes a request.
     *
     * @param message borrowed
     * @return null if it must not be written again
     * @throws dev.isthmus.oip.OipException if it is invalid
     */
    @Nullable
    ReadRequest read(ByteBufAllocator allocator, ModelRef model, InferMessage message, ServerFeatures peer);

    /**
     * Encodes a joined request.
     *
     * @param joined taken
     * @throws dev.isthmus.oip.OipException if the server's form cannot represent it
     */
    InferMessage write(ByteBufAllocator allocator, InferRequest joined, JoinForm form, ServerFeatures peer);

    /**
     * The parts of a response, each as its request alone would have got it.
     *
     * @param response taken
     * @return null if it does not have a row for each row
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is invalid
     */
    @Nullable
    List<InferMessage> split(
            ByteBufAllocator allocator, InferMessage response, JoinForm form, ServerFeatures peer, RowOwners owners);
}

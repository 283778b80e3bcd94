package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * A REST response that is forwarded while it arrives: each part is validated first, nothing of a binary response is
 * forwarded before all of its JSON is valid, and the part that completes an announced length is held until the whole is
 * valid. So if something later is invalid, the client gets a response that is shorter than its length.
 */
final class PassThroughJson {
    /** Longer JSON in front of binary data is forwarded while it arrives, in bytes. */
    private static final int MAX_HELD = 256 << 10;

    private final ByteBufAllocator allocator;
    private final RestResponseReader reader;
    private final MemoryBudget.MemoryReservation memory;
    private final boolean holds;
    private long jsonLength;
    private long received;
    private boolean started;
    private @Nullable ByteBuf held;

    /**
     * Creates an empty response.
     *
     * @param memory counts the bytes held
     * @param jsonLength as in {@link ReplyMessage.Part#jsonLength()}
     */
    PassThroughJson(
            ByteBufAllocator allocator,
            MemoryBudget.MemoryReservation memory,
            Transcoder transcoder,
            long jsonLength,
            ResponseForm form) {
        this.allocator = allocator;
        this.memory = memory;
        this.reader = transcoder.passing(allocator, jsonLength, form);
        this.jsonLength = jsonLength;
        this.holds = jsonLength != RestBody.ALL_JSON && jsonLength <= MAX_HELD;
    }

    /**
     * Validates the next part.
     *
     * @param part taken
     * @return what to forward now; null for nothing yet
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it violates the protocol, OVERLOADED if there is no
     *     memory
     */
    ReplyMessage.@Nullable Part add(ReplyMessage.Part part) {
        received += part.bytes().readableBytes();
        try {
            reader.feed(part.bytes());
            memory.source(reader.held() + (held == null ? 0 : held.readableBytes()));
            requireJson();
        } catch (RuntimeException e) {
            part.release();
            throw e;
        }
        held = held == null ? part.bytes() : SmallParts.join(allocator, held, part.bytes());
        boolean last = received == part.length();
        if (last || (holds && !reader.complete())) {
            return null;
        }
        return forwarded(part.length());
    }

    private ReplyMessage.@Nullable Part forwarded(long length) {
        ByteBuf bytes = held;
        if (bytes == null) {
            return null;
        }
        held = null;
        if (!started && reader.complete() && reader.binarySize() == 0) {
            // KServe sends the length of its JSON even if no binary data follows.
            jsonLength = RestBody.ALL_JSON;
        }
        started = true;
        return new ReplyMessage.Part(SmallParts.complete(bytes), length, jsonLength);
    }

    /** A whole response with such words is written anew; this one has gone on in part. */
    private void requireJson() {
        if (reader.hasStrayWord()) {
            throw new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "the model's server sent NaN or an infinity outside the data of tensors, where JSON is expected");
        }
    }

    /**
     * Checks that the response is complete.
     *
     * @return the last part; null if it was forwarded, because its length was not announced
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is not complete
     */
    ReplyMessage.@Nullable Part end() {
        reader.finish().release();
        return forwarded(received);
    }

    /** Releases everything. Idempotent. */
    void release() {
        reader.release();
        if (held != null) {
            held.release();
            held = null;
        }
        memory.source(0);
    }
}

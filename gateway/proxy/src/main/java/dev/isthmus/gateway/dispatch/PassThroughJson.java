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
 * A REST response that is forwarded while it arrives: each part is validated first, and nothing of a binary response is
 * forwarded before all of its JSON is valid. If something later is invalid, the client gets a partial response.
 */
final class PassThroughJson {
    /** Longer JSON in front of binary data is forwarded while it arrives, in bytes. */
    private static final int MAX_HELD = 256 << 10;

    private final ByteBufAllocator allocator;
    private final RestResponseReader reader;
    private final MemoryBudget.MemoryReservation memory;
    private final boolean holds;
    private long jsonLength;
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
        try {
            reader.feed(part.bytes());
            memory.source(reader.held() + (held == null ? 0 : held.readableBytes()));
            requireJson();
        } catch (RuntimeException e) {
            part.release();
            throw e;
        }
        if (holds && !reader.complete()) {
            held = held == null ? part.bytes() : SmallParts.join(allocator, held, part.bytes());
            return null;
        }
        if (!started && reader.complete() && reader.binarySize() == 0) {
            // KServe sends the length of its JSON even if no binary data follows.
            jsonLength = RestBody.ALL_JSON;
        }
        started = true;
        ByteBuf before = held;
        held = null;
        ByteBuf bytes =
                before == null ? part.bytes() : SmallParts.complete(SmallParts.join(allocator, before, part.bytes()));
        return new ReplyMessage.Part(bytes, part.length(), jsonLength);
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
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is not complete
     */
    void end() {
        reader.finish().release();
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

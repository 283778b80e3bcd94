package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestResponseReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * A REST answer that goes on as it comes: no part does before it was looked at, and none of a binary one before all of its
 * JSON was. What turns out wrong later leaves the client with a part of an answer.
 */
final class PassThroughJson {
    /** JSON before binary data that is longer goes on as it comes, in bytes. */
    private static final int MOST_HELD = 256 << 10;

    private final ByteBufAllocator allocator;
    private final RestResponseReader reader;
    private final MemoryBudget.MemoryReservation memory;
    private final boolean holds;
    private long jsonLength;
    private boolean begun;
    private @Nullable ByteBuf held;

    /**
     * An answer that will come.
     *
     * @param memory counts what is held of it
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
        this.holds = jsonLength != RestBody.ALL_JSON && jsonLength <= MOST_HELD;
    }

    /**
     * Looks at the next part.
     *
     * @param part taken
     * @return what goes on now; null where nothing does yet
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when it breaks the protocol, OVERLOADED where there is no room
     */
    ReplyMessage.@Nullable Part add(ReplyMessage.Part part) {
        try {
            reader.feed(part.bytes());
            memory.source(reader.held() + (held == null ? 0 : held.readableBytes()));
        } catch (RuntimeException e) {
            part.release();
            throw e;
        }
        if (holds && !reader.complete()) {
            held = held == null ? part.bytes() : SmallParts.join(allocator, held, part.bytes());
            return null;
        }
        if (!begun && reader.complete() && reader.binarySize() == 0) {
            // KServe tells the length of its JSON where no binary data follows, too.
            jsonLength = RestBody.ALL_JSON;
        }
        begun = true;
        ByteBuf before = held;
        held = null;
        ByteBuf bytes =
                before == null ? part.bytes() : SmallParts.complete(SmallParts.join(allocator, before, part.bytes()));
        return new ReplyMessage.Part(bytes, part.length(), jsonLength);
    }

    /**
     * The answer has ended.
     *
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when it is not whole
     */
    void end() {
        reader.finish().release();
    }

    /** Gives back what is held; may be called at any time and more than once. */
    void release() {
        reader.release();
        if (held != null) {
            held.release();
            held = null;
        }
        memory.source(0);
    }
}

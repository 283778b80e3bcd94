package dev.isthmus.gateway.grpc;

import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

/** A compressed message, inflated as it comes. */
final class InflatedMessage {
    private final ContentInflater decoder;
    private final CompositeByteBuf out;
    /** Compressed bytes that have not come. */
    private long missing;

    /** Nothing has come yet of a message of so many compressed bytes. */
    InflatedMessage(ByteBufAllocator allocator, ContentInflater decoder, long length) {
        this.decoder = decoder;
        this.out = allocator.compositeBuffer(Integer.MAX_VALUE);
        this.missing = length;
    }

    /** How many of so many bytes belong to it. */
    int of(int bytes) {
        return (int) Math.min(bytes, missing);
    }

    /**
     * Inflates the next part.
     *
     * @param part taken
     * @throws dev.isthmus.oip.OipException as of {@link ContentInflater#add}
     */
    void add(ByteBuf part) {
        missing -= part.readableBytes();
        decoder.add(part, inflated -> SmallParts.append(out, inflated));
    }

    boolean complete() {
        return missing == 0;
    }

    /** What it takes now, in bytes. */
    int bytes() {
        return ContentInflater.HELD + out.readableBytes();
    }

    /**
     * The whole message, owned by the caller.
     *
     * @throws dev.isthmus.oip.OipException as of {@link ContentInflater#finish}; it is still to be released then
     */
    ByteBuf take() {
        decoder.finish();
        decoder.release();
        return SmallParts.complete(out);
    }

    void release() {
        decoder.release();
        out.release();
    }
}

package dev.isthmus.gateway.grpc;

import dev.isthmus.gateway.coding.ContentInflater;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.function.BooleanSupplier;

/** A compressed message, inflated as it arrives. */
final class InflatedMessage {
    private final ContentInflater decoder;
    private final CompositeByteBuf out;
    /** Compressed bytes not yet received. */
    private long missing;

    /** @param length of the compressed message in bytes */
    InflatedMessage(ByteBufAllocator allocator, ContentInflater decoder, long length) {
        this.decoder = decoder;
        this.out = allocator.compositeBuffer(Integer.MAX_VALUE);
        this.missing = length;
    }

    /** How many of the next bytes belong to it. */
    int of(int bytes) {
        return (int) Math.min(bytes, missing);
    }

    /**
     * Adds the next part.
     *
     * @param part taken
     */
    void add(ByteBuf part) {
        missing -= part.readableBytes();
        decoder.add(part);
    }

    /**
     * Inflates the parts that were added.
     *
     * @param more as in {@link ContentInflater#decode}
     * @throws dev.isthmus.oip.OipException as {@link ContentInflater#decode}
     */
    void inflate(BooleanSupplier more) {
        decoder.decode(more, inflated -> SmallParts.append(out, inflated));
    }

    int inflatedBytes() {
        return out.readableBytes();
    }

    /** Whether all received bytes were inflated. */
    boolean inflatedAll() {
        return decoder.done();
    }

    boolean complete() {
        return missing == 0 && inflatedAll();
    }

    /** Memory held, in bytes. */
    int bytes() {
        return ContentInflater.HELD + decoder.waiting() + out.readableBytes();
    }

    /**
     * The whole message, owned by the caller.
     *
     * @throws dev.isthmus.oip.OipException as {@link ContentInflater#finish}; the message must still be released
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

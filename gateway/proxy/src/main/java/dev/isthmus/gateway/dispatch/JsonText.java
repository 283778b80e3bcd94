package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The body of a REST request, parsed while its parts arrive, and kept as received if a server may need that. If all
 * servers accept it as received, its numbers are skipped; as soon as something requires conversion or is invalid, the
 * received bytes are parsed again in full. So the outcome is the same as with full parsing, except for numbers that
 * only a server reads.
 */
final class JsonText {
    private final ByteBufAllocator allocator;
    private final ModelRef model;
    private final long jsonLength;
    private final JsonReadMode mode;
    private final WireLimits limits;
    private @Nullable BufferCollector original;
    private RestRequestReader reader;
    private boolean skimmed;
    private @Nullable ByteBuf text;
    private @Nullable RestRequest parsed;

    JsonText(ByteBufAllocator allocator, ModelRef model, long jsonLength, JsonReadMode mode, WireLimits limits) {
        this.allocator = allocator;
        this.model = model;
        this.jsonLength = jsonLength;
        this.mode = mode;
        this.limits = limits.withSharedMemory(mode.sharedMemory());
        this.original = mode.original() ? new BufferCollector(allocator) : null;
        this.skimmed = original != null && !mode.skimmedFor().isEmpty();
        this.reader = skimmed ? RestRequestReader.skimming(allocator, model, mode.anyParameter(), this.limits) : full();
    }

    private RestRequestReader full() {
        return new RestRequestReader(allocator, model, jsonLength, mode.anyParameter(), limits);
    }

    /**
     * Adds the next part.
     *
     * @param chunk taken
     */
    void add(ByteBuf chunk) {
        try {
            if (original != null) {
                original.add(chunk.retainedDuplicate());
            }
            if (!skimmed) {
                reader.feed(chunk);
            } else if (!skim(chunk)) {
                parseInFull();
            }
        } finally {
            chunk.release();
        }
    }

    /** Whether nothing received so far requires full parsing. */
    private boolean skim(ByteBuf chunk) {
        try {
            if (parsed != null) {
                return !chunk.isReadable();
            }
            reader.feed(chunk);
            if (reader.complete()) {
                RestRequest complete = reader.finish();
                parsed = complete;
                return PassThroughRule.appliesTo(mode.skimmedFor(), complete);
            }
            return true;
        } catch (OipException refused) {
            return false;
        }
    }

    /** Parses the received bytes again, in full. */
    private void parseInFull() {
        skimmed = false;
        reader.release();
        releaseParsed();
        reader = full();
        if (original != null) {
            original.show(reader::feed);
        }
    }

    /**
     * The request of its JSON, once that is complete and the binary data behind it has sizes known to be right;
     * otherwise null.
     */
    @Nullable
    RestRequest head(long bodyLength) {
        return skimmed ? null : reader.head(bodyLength);
    }

    /** Returns the reader that continues when the binary data is taken in parts: the original is not kept. */
    RestRequestReader inParts() {
        if (original != null) {
            original.release();
            original = null;
        }
        return reader;
    }

    /** Checks that the body, whose binary data was taken in parts, is complete. */
    void requireComplete() {
        reader.requireComplete();
    }

    /** Bytes of memory held until the body ends. */
    long held() {
        return reader.held() + (original == null ? 0 : original.bytes());
    }

    /** The body is complete. */
    void end() {
        if (skimmed && parsed == null) {
            parseInFull();
        }
        if (parsed == null) {
            parsed = reader.finish();
        }
        text = original == null ? null : original.take();
    }

    /** The parsed request, after the end; the data of its tensors may have been skipped. */
    RestRequest request() {
        RestRequest complete = parsed;
        if (complete == null) {
            throw new IllegalStateException("the body has not ended");
        }
        return complete;
    }

    /** The request parsed in full, after the end. */
    RestRequest inFull() {
        ByteBuf complete = text;
        if (skimmed && complete != null) {
            // The capabilities of a server have changed since the request started.
            reader = full();
            reader.feed(complete);
            RestRequest full = reader.finish();
            releaseParsed();
            parsed = full;
            skimmed = false;
        }
        return request();
    }

    /** The original text, after the end (borrowed); null if it was not kept. */
    @Nullable
    ByteBuf text() {
        return text;
    }

    /** Releases everything. Idempotent. */
    void release() {
        reader.release();
        releaseParsed();
        if (original != null) {
            original.release();
        }
        if (text != null) {
            text.release();
            text = null;
        }
    }

    private void releaseParsed() {
        if (parsed != null) {
            parsed.request().release();
            parsed = null;
        }
    }
}

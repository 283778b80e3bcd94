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
 * The body of a REST request, read as its parts come, and kept as it came where a server may want that. Where all want it,
 * its numbers are stepped over; as soon as it says something because of which it cannot go as it came, or is refused, what
 * has come is read once more, in full. So whatever becomes of a request is the same, but for numbers that only a server sees.
 */
final class JsonText {
    private final ByteBufAllocator allocator;
    private final ModelRef model;
    private final long jsonLength;
    private final JsonReadMode reading;
    private final WireLimits limits;
    private @Nullable BufferCollector original;
    private RestRequestReader reader;
    private boolean skimmed;
    private @Nullable ByteBuf text;
    private @Nullable RestRequest read;

    JsonText(ByteBufAllocator allocator, ModelRef model, long jsonLength, JsonReadMode reading, WireLimits limits) {
        this.allocator = allocator;
        this.model = model;
        this.jsonLength = jsonLength;
        this.reading = reading;
        this.limits = limits.withSharedMemory(reading.sharedMemory());
        this.original = reading.original() ? new BufferCollector(allocator) : null;
        this.skimmed = original != null && !reading.skimmedFor().isEmpty();
        this.reader =
                skimmed ? RestRequestReader.skimming(allocator, model, reading.anyParameter(), this.limits) : full();
    }

    private RestRequestReader full() {
        return new RestRequestReader(allocator, model, jsonLength, reading.anyParameter(), limits);
    }

    /**
     * Takes the next part.
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
                readAgain();
            }
        } finally {
            chunk.release();
        }
    }

    /** Whether nothing has come yet because of which it must be read in full. */
    private boolean skim(ByteBuf chunk) {
        try {
            if (read != null) {
                return !chunk.isReadable();
            }
            reader.feed(chunk);
            if (reader.complete()) {
                RestRequest complete = reader.finish();
                read = complete;
                return PassThroughRule.goesTo(reading.skimmedFor(), complete);
            }
            return true;
        } catch (OipException refused) {
            return false;
        }
    }

    /** Reads what has come once more, in full. */
    private void readAgain() {
        skimmed = false;
        reader.release();
        forget();
        reader = full();
        if (original != null) {
            original.show(reader::feed);
        }
    }

    /** Its JSON, once that has come where the binary data behind it has sizes known to be right; otherwise null. */
    @Nullable
    RestRequest head(long bodyLength) {
        return skimmed ? null : reader.head(bodyLength);
    }

    /** What reads on where the binary data is taken in parts: nothing is kept as it came. */
    RestRequestReader inParts() {
        if (original != null) {
            original.release();
            original = null;
        }
        return reader;
    }

    /** The body, whose binary data was taken in parts, is complete. */
    void requireComplete() {
        reader.requireComplete();
    }

    /** Bytes of memory that are held, until the body has ended. */
    long held() {
        return reader.held() + (original == null ? 0 : original.bytes());
    }

    /** The body is complete. */
    void end() {
        if (skimmed && read == null) {
            readAgain();
        }
        if (read == null) {
            read = reader.finish();
        }
        text = original == null ? null : original.take();
    }

    /** What it says, once it has ended; the data of its tensors may have been stepped over. */
    RestRequest request() {
        RestRequest complete = read;
        if (complete == null) {
            throw new IllegalStateException("the body has not ended");
        }
        return complete;
    }

    /** What it says with all data, once it has ended. */
    RestRequest inFull() {
        ByteBuf complete = text;
        if (skimmed && complete != null) {
            // What a server understands has changed since the request began.
            reader = full();
            reader.feed(complete);
            RestRequest full = reader.finish();
            forget();
            read = full;
            skimmed = false;
        }
        return request();
    }

    /** It as it came, once it has ended (borrowed); null where it was not kept. */
    @Nullable
    ByteBuf text() {
        return text;
    }

    /** Gives back what is held; may be called at any time and more than once. */
    void release() {
        reader.release();
        forget();
        if (original != null) {
            original.release();
        }
        if (text != null) {
            text.release();
            text = null;
        }
    }

    private void forget() {
        if (read != null) {
            read.request().release();
            read = null;
        }
    }
}

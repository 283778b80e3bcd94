package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;

/** Reads an upstream's REST inference answer; as {@link RestRequestReader}, for the other direction. */
public final class RestResponseReader {
    private final MessageReader reader;

    public RestResponseReader(ByteBufAllocator allocator, long jsonLength, WireLimits limits) {
        this(allocator, jsonLength, limits, Map.of());
    }

    /** @param sharedOutputs where the outputs are that were asked for in shared memory, by name */
    public RestResponseReader(
            ByteBufAllocator allocator,
            long jsonLength,
            WireLimits limits,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        this(allocator, jsonLength, limits, sharedOutputs, ElementUse.READ);
    }

    private RestResponseReader(
            ByteBufAllocator allocator,
            long jsonLength,
            WireLimits limits,
            Map<String, Map<String, Parameter>> sharedOutputs,
            ElementUse elements) {
        var settings =
                new ReaderSettings(false, elements, new ForeignParameters(true), limits, allocator, sharedOutputs);
        this.reader = new MessageReader(settings, jsonLength);
    }

    /**
     * A reader of an answer that goes on as it came: it makes sure of structure, shapes and the number of elements, and that
     * binary data has the sizes that are announced. It keeps nothing of the data, and its tensors have none.
     */
    public static RestResponseReader passing(
            ByteBufAllocator allocator,
            long jsonLength,
            WireLimits limits,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        return new RestResponseReader(allocator, jsonLength, limits, sharedOutputs, ElementUse.COUNTED);
    }

    /**
     * Takes the next part of the body (borrowed).
     *
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER when it breaks the protocol
     */
    public void feed(ByteBuf chunk) {
        try {
            reader.feed(chunk);
        } catch (RuntimeException e) {
            reader.release();
            throw e;
        }
    }

    /** Whether all of the JSON has come. */
    public boolean complete() {
        return reader.complete();
    }

    /** Bytes of binary data that are announced by what has come of the JSON. */
    public long binarySize() {
        return reader.document().binarySize();
    }

    /** As {@link RestRequestReader#held()}. */
    public long held() {
        return reader.held();
    }

    /** Ends the body; the response is owned by the caller. Throws as {@link #feed}. */
    public InferResponse finish() {
        try {
            List<Tensor> outputs = reader.finish();
            DocumentReader document = reader.document();
            ModelRef model = new ModelRef(document.text("model_name"), document.text("model_version"));
            return new InferResponse(model, document.text("id"), document.parameters(), outputs);
        } finally {
            reader.release();
        }
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        reader.release();
    }
}

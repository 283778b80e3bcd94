package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.MemberScanner;
import dev.isthmus.transcoder.message.ResponseOrigin;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;

/** Reads an upstream's REST inference response in chunks, as {@link RestRequestReader} does requests. */
public final class RestResponseReader {
    /** Where its origin is looked for: servers write it before the outputs. */
    private static final int HEAD = 4 << 10;

    private final ForeignParameters foreign = new ForeignParameters(true);
    private final MessageReader reader;

    public RestResponseReader(ByteBufAllocator allocator, long jsonLength, WireLimits limits) {
        this(allocator, jsonLength, limits, Map.of());
    }

    /** @param sharedOutputs the parameters of the outputs requested in shared memory, by name */
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
        var settings = new ReaderSettings(false, elements, foreign, limits, allocator, sharedOutputs);
        this.reader = new MessageReader(settings, jsonLength);
    }

    /**
     * A reader for a response that is passed through. Checks structure, shapes, element counts and the sizes of binary
     * data. Retains no data; its tensors are empty.
     */
    public static RestResponseReader passing(
            ByteBufAllocator allocator,
            long jsonLength,
            WireLimits limits,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        return new RestResponseReader(allocator, jsonLength, limits, sharedOutputs, ElementUse.COUNTED);
    }

    /**
     * What a response says at its beginning of the request that it answers.
     *
     * @param start the first bytes of its body, borrowed
     */
    public static ResponseOrigin origin(ByteBuf start) {
        return new ResponseOrigin(member(start, "model_name"), member(start, "id"));
    }

    private static String member(ByteBuf start, String name) {
        int from = start.readerIndex();
        MemberScanner members = new MemberScanner(start, from, from + Math.min(start.readableBytes(), HEAD));
        return members.find(name) ? members.text() : "";
    }

    /**
     * Reads the next chunk of the body (borrowed).
     *
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it violates the protocol
     */
    public void feed(ByteBuf chunk) {
        try {
            reader.feed(chunk);
        } catch (RuntimeException e) {
            reader.release();
            throw e;
        }
    }

    /** Whether the whole JSON document has been received. */
    public boolean complete() {
        return reader.complete();
    }

    /**
     * Whether the JSON received so far has NaN or an infinity outside the data of tensors, where clients expect JSON.
     * Such parameters are left out of the response; a response that is passed through has them.
     */
    public boolean hasStrayWord() {
        return foreign.hasWord();
    }

    /** The bytes of binary data announced by the JSON received so far. */
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

    /** Releases what was read and not taken; idempotent. */
    public void release() {
        reader.release();
    }
}

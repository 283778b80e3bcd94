package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.MemberScanner;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.ResponseOrigin;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;

/** Reads an upstream's REST inference response in chunks, as {@link RestRequestReader} does requests. */
public final class RestResponseReader extends MessageReader {
    /** Where its origin is looked for: servers write it before the outputs. */
    private static final int HEAD = 4 << 10;

    public RestResponseReader(ByteBufAllocator allocator, long jsonLength, WireLimits limits) {
        this(allocator, jsonLength, limits, Map.of());
    }

    /** @param sharedOutputs the parameters of the outputs requested in shared memory, by name */
    public RestResponseReader(
            ByteBufAllocator allocator,
            long jsonLength,
            WireLimits limits,
            Map<String, Map<String, Parameter>> sharedOutputs) {
        this(new ReaderState(false, false, true, limits, allocator, sharedOutputs), jsonLength);
    }

    private RestResponseReader(ReaderState state, long jsonLength) {
        super(state, jsonLength);
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
        return new RestResponseReader(new ReaderState(false, true, true, limits, allocator, sharedOutputs), jsonLength);
    }

    /**
     * What a response says at its beginning of the request that it answers.
     *
     * @param start the first bytes of its body, borrowed
     * @param expected nothing else is looked for
     */
    public static ResponseOrigin origin(ByteBuf start, ExpectedOrigin expected) {
        return new ResponseOrigin(
                expected.model().isEmpty() ? "" : member(start, "model_name"),
                expected.id().isEmpty() ? "" : member(start, "id"));
    }

    private static String member(ByteBuf start, String name) {
        int from = start.readerIndex();
        MemberScanner members = new MemberScanner(start, from, from + Math.min(start.readableBytes(), HEAD));
        return members.find(name) ? members.text() : "";
    }

    /**
     * Whether the JSON received so far has NaN or an infinity outside the data of tensors, where clients expect JSON.
     * Such parameters are left out of the response; a response that is passed through has them.
     */
    public boolean hasStrayWord() {
        return state().hasWord;
    }

    /** The bytes of binary data announced by the JSON received so far. */
    public long binarySize() {
        return document().binarySize();
    }

    /** Ends the body of a response that is passed through. Throws as {@link #feed}. */
    public void end() {
        try {
            requireTensors();
            document().requireData();
        } finally {
            release();
        }
    }

    /** Ends the body; the response is owned by the caller. Throws as {@link #feed}. */
    public InferResponse finish() {
        try {
            List<Tensor> outputs = tensors();
            DocumentReader document = document();
            return new InferResponse(document.model(), document.id(), document.parameters(), outputs);
        } finally {
            release();
        }
    }
}

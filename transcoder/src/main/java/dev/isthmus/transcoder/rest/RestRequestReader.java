package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a REST inference request in chunks as they arrive. Not thread-safe. Holds no buffers after {@link #finish()},
 * {@link #release()} or an exception.
 */
public final class RestRequestReader extends MessageReader {
    private final ModelRef model;

    /**
     * A reader that reads all elements.
     *
     * @param model the model in the URL
     * @param jsonLength as in {@link RestBody#jsonLength()}
     * @param anyParameter whether parameters of a type that the protocol does not define are accepted, as {@link
     *     dev.isthmus.oip.Parameter.Json}; {@link RestRequest#foreignParameter()} then names one
     */
    public RestRequestReader(
            ByteBufAllocator allocator, ModelRef model, long jsonLength, boolean anyParameter, WireLimits limits) {
        this(model, jsonLength, new ReaderState(true, false, anyParameter, limits, allocator, Map.of()));
    }

    private RestRequestReader(ModelRef model, long jsonLength, ReaderState state) {
        super(state, jsonLength);
        this.model = model;
    }

    /**
     * A reader for an all-JSON request that is passed through. Checks structure, shapes and element counts, but skims
     * numeric elements, whose tensors have no data. If it fails, the request may still be valid and must be read in
     * full.
     */
    public static RestRequestReader skimming(
            ByteBufAllocator allocator, ModelRef model, boolean anyParameter, WireLimits limits) {
        ReaderState state = new ReaderState(true, true, anyParameter, limits, allocator, Map.of());
        return new RestRequestReader(model, RestBody.ALL_JSON, state);
    }

    /**
     * Ends the body.
     *
     * @return the request, owned by the caller
     * @throws dev.isthmus.oip.OipException if the body violates the protocol or is not complete
     */
    public RestRequest finish() {
        try {
            return request(tensors());
        } finally {
            release();
        }
    }

    private RestRequest request(List<Tensor> inputs) {
        DocumentReader document = document();
        InferRequest request =
                new InferRequest(model, document.id(), document.parameters(), inputs, document.outputs());
        return new RestRequest(
                request,
                document.forms(),
                document.plainInputs(),
                document.contestedJson(),
                document.base64Inputs(),
                state().foreign,
                state().hasNull);
    }

    /**
     * The request before its binary data is received; its tensors are empty. Available once the JSON is complete, if
     * every input is binary data of a fixed-size datatype, and the announced sizes match the shapes and add up to the
     * rest of the body. The data may then be taken by {@link #takeBinary} while it arrives, instead of by {@link
     * #finish()}.
     *
     * @param bodyLength the length of the whole body
     * @return null if it is not available, or not yet
     * @throws dev.isthmus.oip.OipException if the JSON violates the protocol
     */
    public @Nullable RestRequest head(long bodyLength) {
        if (!fixedBinary(bodyLength)) {
            return null;
        }
        try {
            return request(document().heads());
        } catch (RuntimeException e) {
            release();
            throw e;
        }
    }

    /**
     * Ends the body of a request whose {@link #head} was returned.
     *
     * @throws dev.isthmus.oip.OipException if it is incomplete
     */
    public void requireComplete() {
        try {
            requireBinary();
        } catch (RuntimeException e) {
            release();
            throw e;
        }
    }

    /** The size of an input's binary data in bytes, by the input's index in the request. */
    public long binarySize(int input) {
        return document().tensors().get(input).binarySize();
    }

    /** The bytes of an input's binary data received and not taken before, owned by the caller. */
    public ByteBuf takeBinary(int input) {
        return document().tensors().get(input).takeBinary();
    }
}

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
 * Reads a REST inference request in chunks as they arrive. Not thread-safe. After {@link #finish()}, {@link #release()} or
 * an exception it holds nothing any more.
 */
public final class RestRequestReader {
    private final ModelRef model;
    private final ForeignParameters foreign;
    private final MessageReader reader;

    /**
     * A reader of one request, in full.
     *
     * @param model from the URL
     * @param jsonLength as in {@link RestBody#jsonLength()}
     * @param anyParameter whether parameters that the protocol does not have are taken, as {@link dev.isthmus.oip.Parameter.Json};
     *     {@link RestRequest#foreignParameter()} names one then
     */
    public RestRequestReader(
            ByteBufAllocator allocator, ModelRef model, long jsonLength, boolean anyParameter, WireLimits limits) {
        this(allocator, model, jsonLength, anyParameter, limits, false);
    }

    private RestRequestReader(
            ByteBufAllocator allocator,
            ModelRef model,
            long jsonLength,
            boolean anyParameter,
            WireLimits limits,
            boolean skim) {
        this.model = model;
        this.foreign = new ForeignParameters(anyParameter);
        ElementUse elements = skim ? ElementUse.SKIMMED : ElementUse.READ;
        this.reader =
                new MessageReader(new ReaderSettings(true, elements, foreign, limits, allocator, Map.of()), jsonLength);
    }

    /**
     * A reader of one request that is all JSON, for a server that is sent it as it came. It makes sure of the structure, of
     * shapes and of the number of elements, but only steps over the elements that are numbers: tensors of them have no data
     * then. Where it fails, the request may still be valid, and must be read in full.
     */
    public static RestRequestReader skimming(
            ByteBufAllocator allocator, ModelRef model, boolean anyParameter, WireLimits limits) {
        return new RestRequestReader(allocator, model, RestBody.ALL_JSON, anyParameter, limits, true);
    }

    /**
     * Takes the next part of the body.
     *
     * @param chunk borrowed
     * @throws dev.isthmus.oip.OipException when the body breaks the protocol
     */
    public void feed(ByteBuf chunk) {
        try {
            reader.feed(chunk);
        } catch (RuntimeException e) {
            reader.release();
            throw e;
        }
    }

    /** Whether the whole document has come, and with it all that {@link #finish()} needs. */
    public boolean complete() {
        return reader.complete();
    }

    /**
     * Ends the body.
     *
     * @return the request, owned by the caller
     * @throws dev.isthmus.oip.OipException when the body breaks the protocol or is not complete
     */
    public RestRequest finish() {
        try {
            return request(reader.finish());
        } finally {
            reader.release();
        }
    }

    private RestRequest request(List<Tensor> inputs) {
        DocumentReader document = reader.document();
        InferRequest request =
                new InferRequest(model, document.text("id"), document.parameters(), inputs, document.outputs());
        return new RestRequest(
                request,
                document.forms(),
                document.plainInputs(),
                document.contestedJson(),
                document.base64(),
                foreign.name());
    }

    /**
     * The request before its binary data has come; its tensors are empty. It is there once the JSON is complete, where every
     * input is binary data of a datatype with a fixed size, and the sizes that are announced are those of the shapes and add
     * up to the rest of the body. The data may then be had by {@link #takeBinary} as it comes, instead of by
     * {@link #finish()}.
     *
     * @param bodyLength of the whole body
     * @return null where there is no such request, or none yet
     * @throws dev.isthmus.oip.OipException when the JSON breaks the protocol
     */
    public @Nullable RestRequest head(long bodyLength) {
        if (!reader.fixedBinary(bodyLength)) {
            return null;
        }
        try {
            return request(reader.document().heads());
        } catch (RuntimeException e) {
            reader.release();
            throw e;
        }
    }

    /**
     * Ends the body of a request of which there was a {@link #head}.
     *
     * @throws dev.isthmus.oip.OipException when it is not complete
     */
    public void requireComplete() {
        try {
            reader.requireComplete();
        } catch (RuntimeException e) {
            reader.release();
            throw e;
        }
    }

    /** Bytes of an input's binary data, by its place in the request. */
    public long binarySize(int input) {
        return reader.document().tensors().get(input).binarySize();
    }

    /** What has come of an input's binary data and was not taken before, owned by the caller. */
    public ByteBuf takeBinary(int input) {
        return reader.document().tensors().get(input).takeBinary();
    }

    /** Bytes of memory that are held: tensors as far as they have been read, text that is kept, and about what the heap has. */
    public long held() {
        return reader.held();
    }

    /** Gives back what is held; may be called at any time and more than once. */
    public void release() {
        reader.release();
    }
}

package dev.isthmus.transcoder.rest;

import static java.util.Objects.requireNonNull;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the body of an inference request or response in chunks that may end at any byte: first the JSON, then the
 * binary data.
 */
public abstract sealed class MessageReader permits RestRequestReader, RestResponseReader {
    /** Bytes: two stripes of numbers fit, and a window of it is within what {@link ReaderState} does not count. */
    private static final int PART = 13_600;

    private final ReaderState state;
    private final long jsonLength;
    /** Null once it is released. */
    private @Nullable JsonTokenizer json;

    private final DocumentReader document;
    /** The tensor whose binary data comes next, and what has arrived of it, in bytes. */
    private int tensor;

    private long taken;
    private long jsonTaken;
    private boolean opened;
    private boolean complete;

    MessageReader(ReaderState state, long jsonLength) {
        this.state = state;
        this.jsonLength = jsonLength;
        this.json = JsonTokenizer.of(state.limits);
        this.document = new DocumentReader(state);
    }

    final ReaderState state() {
        return state;
    }

    /** The document read so far. */
    final DocumentReader document() {
        return document;
    }

    /**
     * Reads the next chunk of the body.
     *
     * @param chunk borrowed
     * @throws OipException if the body violates the protocol
     */
    public final void feed(ByteBuf chunk) {
        try {
            take(chunk);
        } catch (RuntimeException e) {
            release();
            throw e;
        }
    }

    private void take(ByteBuf chunk) {
        if (jsonLength == 0) {
            throw state.failure("Inference-Header-Content-Length: the length of the JSON is expected, got 0");
        }
        long left = jsonLength < 0 ? Long.MAX_VALUE : jsonLength - jsonTaken;
        int textBytes = (int) Math.min(left, chunk.readableBytes());
        if (textBytes > 0) {
            text(chunk, textBytes);
        }
        if (complete) {
            binary(chunk, chunk.readerIndex() + textBytes);
        }
    }

    /** Reads JSON in parts that fit into the processor's cache. */
    private void text(ByteBuf chunk, int length) {
        int end = chunk.readerIndex() + length;
        for (int at = chunk.readerIndex(); at < end; at += PART) {
            int part = Math.min(PART, end - at);
            jsonTaken += part;
            JsonTokenizer tokens = requireNonNull(json);
            tokens.feed(chunk, at, part);
            if (jsonTaken == jsonLength) {
                tokens.last();
            }
            read(tokens);
        }
    }

    /** Whether the JSON is complete, and the rest of a body of this length is the binary data of all tensors. */
    final boolean fixedBinary(long bodyLength) {
        return complete && jsonTaken == jsonLength && document.fixedBinary(bodyLength - jsonLength);
    }

    /** Whether the whole JSON document has been received. */
    public final boolean complete() {
        return complete;
    }

    /** Ends the body; returns its tensors, owned by the caller. */
    final List<Tensor> tensors() {
        requireTensors();
        return document.takeTensors();
    }

    /** Ends the body: all of its tensors, and their binary data, are required. */
    final void requireTensors() {
        if (jsonLength > jsonTaken || jsonLength == 0) {
            throw state.failure(
                    "Inference-Header-Content-Length is " + jsonLength + ", but the body has " + jsonTaken + " bytes");
        }
        JsonTokenizer tokens = requireNonNull(json);
        tokens.last();
        read(tokens);
        requireBinary();
    }

    /** The memory held, in bytes: the tensors read so far, retained text, and an estimate of other heap objects. */
    public final long held() {
        return document.held(json == null ? 0 : json.window().length);
    }

    /** Releases what was read and not taken; idempotent. */
    public final void release() {
        document.release();
        if (json != null) {
            json.release();
            json = null;
        }
    }

    private void read(JsonTokenizer tokens) {
        try {
            complete = complete || (open(tokens) && document.read(tokens));
            if (complete) {
                // Fails if data follows the document.
                tokens.next();
            }
        } catch (JsonException e) {
            throw state.failure(String.valueOf(e.getMessage()));
        }
    }

    private boolean open(JsonTokenizer tokens) {
        if (!opened) {
            JsonToken token = tokens.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (token != JsonToken.START_OBJECT) {
                throw state.failure("the body: an object is expected, got " + token);
            }
            opened = true;
        }
        return true;
    }

    /** Assigns the chunk's bytes from this index on, which follow the JSON, to the tensors that announced them. */
    private void binary(ByteBuf chunk, int from) {
        List<TensorBuilder> tensors = document.tensors();
        int at = from;
        skipFull();
        while (at < chunk.writerIndex() && tensor < tensors.size()) {
            TensorBuilder builder = tensors.get(tensor);
            int part = (int) Math.min(builder.binarySize() - taken, chunk.writerIndex() - at);
            ByteBuf data = chunk.retainedDuplicate();
            // The duplicate of a slice may have the indices of the underlying buffer.
            int shift = data.readerIndex() - chunk.readerIndex();
            builder.addBinary(data.setIndex(at + shift, at + shift + part));
            at += part;
            taken += part;
            skipFull();
        }
        if (at < chunk.writerIndex()) {
            throw state.failure("the body has " + (chunk.writerIndex() - at)
                    + " bytes or more beyond what binary_data_size announces");
        }
    }

    /** Requires that all announced binary data has been received. */
    final void requireBinary() {
        skipFull();
        if (tensor < document.tensors().size()) {
            TensorBuilder builder = document.tensors().get(tensor);
            throw state.check()
                    .failure(
                            builder.name(),
                            "a binary_data_size of " + builder.binarySize() + " is announced, but " + taken
                                    + " bytes follow");
        }
    }

    private void skipFull() {
        List<TensorBuilder> tensors = document.tensors();
        while (tensor < tensors.size() && taken == tensors.get(tensor).binarySize()) {
            tensor++;
            taken = 0;
        }
    }
}

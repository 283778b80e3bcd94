package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import io.netty.buffer.ByteBuf;
import java.util.List;

/**
 * Reads the body of an inference request or answer in chunks, which may end at any byte: first its JSON, then the binary
 * data behind it.
 */
final class MessageReader {
    private static final int PART = 8 * 1024;

    private final ReaderSettings settings;
    private final long jsonLength;
    private final JsonTokenizer json;
    private final DocumentReader document;
    private final BinarySection tail;
    private long jsonTaken;
    private boolean opened;
    private boolean complete;

    MessageReader(ReaderSettings settings, long jsonLength) {
        this.settings = settings;
        this.jsonLength = jsonLength;
        this.json = new JsonTokenizer(settings.limits());
        this.document = new DocumentReader(settings);
        this.tail = new BinarySection(settings.check(), document.tensors());
    }

    /** The document, as far as it has been read. */
    DocumentReader document() {
        return document;
    }

    void feed(ByteBuf chunk) {
        if (jsonLength == 0) {
            throw settings.failure("Inference-Header-Content-Length: the length of the JSON is expected, got 0");
        }
        long left = jsonLength < 0 ? Long.MAX_VALUE : jsonLength - jsonTaken;
        int textBytes = (int) Math.min(left, chunk.readableBytes());
        if (textBytes > 0) {
            text(chunk, textBytes);
        }
        if (complete) {
            tail.add(chunk, chunk.readerIndex() + textBytes);
        }
    }

    /** Reads JSON in parts that stay in the processor's cache. */
    private void text(ByteBuf chunk, int length) {
        int end = chunk.readerIndex() + length;
        for (int at = chunk.readerIndex(); at < end; at += PART) {
            int part = Math.min(PART, end - at);
            jsonTaken += part;
            json.feed(chunk, at, part);
            if (jsonTaken == jsonLength) {
                json.last();
            }
            read();
        }
    }

    /** Whether the JSON is complete, and what follows it in a body of this length is the data of all tensors. */
    boolean fixedBinary(long bodyLength) {
        return complete && jsonTaken == jsonLength && document.fixedBinary(bodyLength - jsonLength);
    }

    /** Whether the document has ended. */
    boolean complete() {
        return complete;
    }

    /** Ends the body. */
    List<Tensor> finish() {
        if (jsonLength > jsonTaken || jsonLength == 0) {
            throw settings.failure(
                    "Inference-Header-Content-Length is " + jsonLength + ", but the body has " + jsonTaken + " bytes");
        }
        json.last();
        read();
        requireComplete();
        return document.takeTensors();
    }

    /** That the binary data has come that was announced. */
    void requireComplete() {
        tail.requireComplete();
    }

    /** Bytes of memory that are held. */
    long held() {
        return document.held(json.window().length);
    }

    void release() {
        document.release();
        json.release();
    }

    private void read() {
        try {
            complete = complete || (open() && document.read(json));
            if (complete) {
                // Something behind the document is found here.
                json.next();
            }
        } catch (JsonTokenizer.JsonException e) {
            throw settings.failure(String.valueOf(e.getMessage()));
        }
    }

    private boolean open() {
        if (!opened) {
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (token != Token.START_OBJECT) {
                throw settings.failure("the body: an object is expected, got " + token);
            }
            opened = true;
        }
        return true;
    }
}

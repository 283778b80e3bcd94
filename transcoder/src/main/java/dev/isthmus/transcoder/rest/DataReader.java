package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.number.NumberRun;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Reads one tensor's {@code data} incrementally: flat, nested like the shape, or a scalar's only value. Owns the raw
 * form until {@link #take()}.
 */
final class DataReader implements TensorData {
    /** The maximum initial allocation, whatever the shape announces. */
    private static final int FIRST_BYTES = 1 << 20;

    private final TensorCheck check;
    private final String tensor;
    private final DataType type;
    private final ElementWriter elements;
    private final long expectedBytes;
    private final long maxBytes;
    private final int announced;
    private final ByteBuf raw;
    private final int outerDepth;
    private final boolean runs;
    private final ArrayNesting nesting;
    private @Nullable NumberRun numbers;
    private boolean taken;
    /** The index of the length of the BYTES element being read as an array of its bytes; -1 for none. */
    private int bytesAt = -1;

    private boolean octets;

    /**
     * A reader positioned before the value of {@code data}.
     *
     * @param expectedBytes the expected size of the raw form; 0 if unknown
     * @param maxBytes the maximum size of the raw form
     * @param outerDepth the depth of the tensor's object in the document
     */
    DataReader(
            TensorCheck check,
            String tensor,
            DataType type,
            long expectedBytes,
            long maxBytes,
            int outerDepth,
            ByteBufAllocator allocator) {
        this.check = check;
        this.tensor = tensor;
        this.type = type;
        this.elements = new ElementWriter(check, tensor, type);
        this.expectedBytes = expectedBytes;
        this.maxBytes = maxBytes;
        this.announced = Math.clamp(Math.min(expectedBytes, maxBytes), 0, Integer.MAX_VALUE);
        this.outerDepth = outerDepth;
        this.runs = NumberRun.takes(type);
        this.raw = allocator.buffer(Math.clamp(expectedBytes, 16, FIRST_BYTES));
        this.nesting = new ArrayNesting(check, tensor);
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            switch (token) {
                case NEED_MORE -> {
                    return false;
                }
                case START_ARRAY -> open(json.depth() - outerDepth);
                case END_ARRAY -> {
                    int level = json.depth() - outerDepth + 1;
                    close(level);
                    if (level == 1) {
                        return true;
                    }
                }
                case START_OBJECT, END_OBJECT, KEY, END ->
                    throw check.failure(tensor, "data: an array of " + type + " is expected, got an object");
                default -> {
                    if (json.depth() == outerDepth) {
                        bare(token, json);
                        return true;
                    }
                    element(token, json);
                }
            }
        }
    }

    private void open(int level) {
        if (bytesAt >= 0) {
            throw nesting.ragged();
        }
        nesting.open(level, type == DataType.BYTES);
    }

    private void close(int level) {
        if (bytesAt >= 0) {
            raw.setIntLE(bytesAt, raw.writerIndex() - bytesAt - Integer.BYTES);
            bytesAt = -1;
            return;
        }
        nesting.close(level);
    }

    /** The value of a scalar, or null. */
    private void bare(JsonToken token, JsonTokenizer json) {
        if (token != JsonToken.NULL) {
            nesting.elements(0, 1);
            elements.write(token, json, raw);
            requireSize();
        }
    }

    private void element(JsonToken token, JsonTokenizer json) {
        int level = json.depth() - outerDepth;
        if (type == DataType.BYTES && token == JsonToken.NUMBER && level > 1) {
            octet(level, json);
            return;
        }
        if (bytesAt >= 0) {
            throw nesting.ragged();
        }
        nesting.elements(level, 1);
        elements.write(token, json, raw);
        requireSize();
        if (token == JsonToken.NUMBER && runs) {
            run(level, json);
        }
    }

    /** Reads the plain numbers that follow. */
    private void run(int level, JsonTokenizer json) {
        if (numbers == null) {
            numbers = new NumberRun(type, expectedBytes == 0 ? Long.MAX_VALUE : expectedBytes / type.size());
        }
        int read;
        do {
            read = json.run(numbers, raw);
            nesting.elements(level, read);
            requireSize();
        } while (read > 0);
    }

    /** A BYTES element may be an array of its bytes, 0 to 255; such an array is not a level of nesting. */
    private void octet(int level, JsonTokenizer json) {
        if (bytesAt < 0) {
            nesting.element(level);
            octets = true;
            bytesAt = raw.writerIndex();
            raw.writeIntLE(0);
        }
        elements.octet(json, raw);
        requireSize();
    }

    private void requireSize() {
        if (raw.readableBytes() > maxBytes) {
            throw check.tooLarge(tensor, maxBytes);
        }
        if (raw.capacity() > FIRST_BYTES && raw.capacity() < announced) {
            // Enough has been received to trust the shape: one allocation instead of many, each of which copies.
            raw.capacity(announced);
        }
    }

    @Override
    public boolean absent() {
        return nesting.isEmpty();
    }

    @Override
    public void requireShape(Shape shape) {
        nesting.requireShape(shape);
    }

    @Override
    public boolean contested() {
        return elements.contested() || octets || nesting.isBare();
    }

    @Override
    public ByteBuf take() {
        taken = true;
        return raw;
    }

    @Override
    public long held() {
        return raw.capacity();
    }

    @Override
    public void release() {
        if (!taken) {
            taken = true;
            raw.release();
        }
    }
}

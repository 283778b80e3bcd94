package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.number.NumberRun;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Reads one tensor's {@code data}: flat, or nested as the shape says. Goes on where it stopped when more of the document has
 * come. Owns the raw form until {@link #take()}.
 */
final class DataReader implements TensorData {
    /** What is allocated at once, however many elements a shape promises. */
    private static final int FIRST_BYTES = 1 << 20;

    private final TensorCheck check;
    private final String tensor;
    private final DataType type;
    private final ElementWriter elements;
    private final long expectedBytes;
    private final long maxBytes;
    private final int promised;
    private final ByteBuf raw;
    private final int outerDepth;
    private final boolean runs;
    private final ArrayNesting nesting;
    private @Nullable NumberRun numbers;
    private boolean taken;
    /** Where the length of the BYTES element stands that is being read as an array of its bytes; -1 for none. */
    private int bytesAt = -1;

    private boolean octets;

    /**
     * A reader that stands before the value of {@code data}.
     *
     * @param expectedBytes of the raw form; 0 where not known
     * @param maxBytes a raw form longer than this is refused
     * @param outerDepth of the tensor's object in the document
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
        this.promised = Math.clamp(Math.min(expectedBytes, maxBytes), 0, Integer.MAX_VALUE);
        this.outerDepth = outerDepth;
        this.runs = NumberRun.takes(type);
        this.raw = allocator.buffer(Math.clamp(expectedBytes, 16, FIRST_BYTES));
        this.nesting = new ArrayNesting(check, tensor);
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            JsonTokenizer.Token token = json.next();
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
                default -> element(token, json);
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

    private void element(JsonTokenizer.Token token, JsonTokenizer json) {
        int level = json.depth() - outerDepth;
        if (level == 0) {
            throw check.failure(tensor, "data: an array of " + type + " is expected, got a single value");
        }
        if (type == DataType.BYTES && token == JsonTokenizer.Token.NUMBER && level > 1) {
            octet(level, json);
            return;
        }
        if (bytesAt >= 0) {
            throw nesting.ragged();
        }
        nesting.elements(level, 1);
        elements.write(token, json, raw);
        requireSize();
        if (token == JsonTokenizer.Token.NUMBER && runs) {
            run(level, json);
        }
    }

    /** Takes the plain numbers that follow. */
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

    /** A BYTES element may be an array of its bytes, 0 to 255; the array is no level of nesting then. */
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
            throw check.failure(tensor, "data: at most " + maxBytes + " bytes are taken");
        }
        if (raw.capacity() > FIRST_BYTES && raw.capacity() < promised) {
            // So much has come that the shape is believed: one allocation instead of many, which copy.
            raw.capacity(promised);
        }
    }

    @Override
    public void requireShape(Shape shape) {
        nesting.requireShape(shape);
    }

    @Override
    public boolean contested() {
        return elements.contested() || octets;
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

package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads one tensor's {@code data}: flat, or nested as the shape says. Goes on where it stopped when more of the document has
 * come. Owns the raw form until {@link #take()}.
 */
final class DataReader implements ValueReader {
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
    private @Nullable NumberRun numbers;
    private boolean taken;
    private long count;
    /** Where the length of the BYTES element stands that is being read as an array of its bytes; -1 for none. */
    private int bytesAt = -1;

    private boolean octets;
    private int deepest;
    private boolean elementSeen;

    /** Items so far at each level of nesting, outermost first, and how many each level had. */
    private final long[] items = new long[Shape.MAX_RANK + 1];

    private final long[] extents = new long[Shape.MAX_RANK + 1];

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
        Arrays.fill(extents, -1);
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
        boolean mayBeBytes = type == DataType.BYTES && level == deepest + 1;
        if (level > Shape.MAX_RANK || bytesAt >= 0 || (elementSeen && level > deepest && !mayBeBytes)) {
            throw ragged();
        }
        if (level > 1) {
            items[level - 1]++;
        }
        items[level] = 0;
        deepest = elementSeen ? deepest : Math.max(deepest, level);
    }

    private void close(int level) {
        if (bytesAt >= 0) {
            raw.setIntLE(bytesAt, raw.writerIndex() - bytesAt - Integer.BYTES);
            bytesAt = -1;
            return;
        }
        if (extents[level] >= 0 && extents[level] != items[level]) {
            throw ragged();
        }
        extents[level] = items[level];
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
        if (level != deepest || bytesAt >= 0) {
            throw ragged();
        }
        elementSeen = true;
        items[level]++;
        count++;
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
            items[level] += read;
            count += read;
            requireSize();
        } while (read > 0);
    }

    /** A BYTES element may be an array of its bytes, 0 to 255; the array is no level of nesting then. */
    private void octet(int level, JsonTokenizer json) {
        if (bytesAt < 0) {
            int outer = level - 1;
            if (items[level] > 0 || (elementSeen && outer != deepest)) {
                throw ragged();
            }
            deepest = outer;
            elementSeen = true;
            count++;
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

    private RuntimeException ragged() {
        return check.failure(tensor, "data: nested arrays of different sizes");
    }

    /** That what was read has the shape; a flat array has any. */
    void requireShape(Shape shape) {
        long expected = check.elementCount(tensor, shape);
        if (count != expected) {
            throw check.failure(
                    tensor, "shape " + shape + " needs " + expected + " elements, got " + count + " in data");
        }
        if (deepest <= 1 || count == 0) {
            return;
        }
        boolean same = deepest == shape.rank();
        for (int level = 1; same && level <= deepest; level++) {
            same = extents[level] == shape.extent(level - 1);
        }
        if (!same) {
            throw check.failure(
                    tensor, "shape " + shape + " is expected of the nested arrays in data, got " + nesting());
        }
    }

    private Shape nesting() {
        long[] got = new long[deepest];
        System.arraycopy(extents, 1, got, 0, deepest);
        return Shape.of(got);
    }

    /** Whether any element is written in a way that servers read differently. */
    boolean contested() {
        return elements.contested() || octets;
    }

    /** The raw form, owned by the caller. */
    ByteBuf take() {
        taken = true;
        return raw;
    }

    /** Bytes of memory of the raw form, whether it was taken or not. */
    long held() {
        return raw.capacity();
    }

    void release() {
        if (!taken) {
            taken = true;
            raw.release();
        }
    }
}

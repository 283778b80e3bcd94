package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import dev.isthmus.transcoder.json.NumberScanner;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * Makes sure of one tensor's {@code data} without reading its numbers: that it is arrays as {@link DataReader} takes them, of
 * as many elements, and of nothing but numbers. What it refuses may be valid all the same; {@link DataReader} is the judge.
 */
final class DataScanner implements TensorData {
    private final TensorCheck check;
    private final String tensor;
    private final DataType type;
    private final WireLimits limits;
    private final int outerDepth;
    private final ArrayNesting nesting;
    private @Nullable NumberScanner numbers;

    /**
     * A skim that stands before the value of {@code data}.
     *
     * @param type one that {@link #takes} says
     * @param outerDepth of the tensor's object in the document
     */
    DataScanner(TensorCheck check, String tensor, DataType type, WireLimits limits, int outerDepth) {
        this.check = check;
        this.tensor = tensor;
        this.type = type;
        this.limits = limits;
        this.outerDepth = outerDepth;
        this.nesting = new ArrayNesting(check, tensor);
    }

    /** Whether a request's elements of this type may be stepped over: not integers, of which servers make others in silence. */
    static boolean takes(DataType type) {
        return type == DataType.FP32 || type == DataType.FP64;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        if (numbers == null) {
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (token != Token.START_ARRAY) {
                throw refused();
            }
            numbers = NumberScanner.of(nesting, limits, outerDepth);
        }
        boolean closed = json.skim(numbers);
        if (numbers.refused() || nesting.count() > limits.bodyBytes() / type.size()) {
            throw refused();
        }
        // The bracket that closes it.
        return closed && json.next() == Token.END_ARRAY;
    }

    private OipException refused() {
        return check.failure(tensor, "data: an array of " + type + " is expected, got something else");
    }

    @Override
    public void requireShape(Shape shape) {
        nesting.requireShape(shape);
    }

    @Override
    public boolean contested() {
        return false;
    }

    @Override
    public ByteBuf take() {
        return Unpooled.EMPTY_BUFFER;
    }

    @Override
    public long held() {
        return 0;
    }

    @Override
    public void release() {}
}

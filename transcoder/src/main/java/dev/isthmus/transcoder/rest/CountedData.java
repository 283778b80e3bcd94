package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** One tensor's {@code data} whose nesting is checked and whose elements are counted: it has no raw form. */
abstract sealed class CountedData implements TensorData permits DataScanner, ElementCounter {
    final TensorCheck check;
    final String tensor;
    final WireLimits limits;
    /** The depth of the tensor's object in the document. */
    final int outerDepth;

    final ArrayNesting nesting;

    CountedData(TensorCheck check, String tensor, WireLimits limits, int outerDepth) {
        this.check = check;
        this.tensor = tensor;
        this.limits = limits;
        this.outerDepth = outerDepth;
        this.nesting = new ArrayNesting(check, tensor);
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

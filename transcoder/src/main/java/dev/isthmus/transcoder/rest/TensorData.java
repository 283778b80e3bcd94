package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** Reads one tensor's {@code data}, and checks its nesting; owns the result until {@link #take()}. */
abstract sealed class TensorData implements ValueReader permits DataReader, ElementCounter {
    final TensorCheck check;
    final String tensor;
    final DataType type;
    final int outerDepth;
    final ArrayNesting nesting;

    /**
     * A reader positioned before the value of {@code data}.
     *
     * @param outerDepth the depth of the tensor's object in the document
     */
    TensorData(ReaderState state, TensorCheck check, String tensor, DataType type, int outerDepth) {
        this.check = check;
        this.tensor = tensor;
        this.type = type;
        this.outerDepth = outerDepth;
        this.nesting = state.scratch().nesting.begin(check, tensor);
    }

    /** Whether any element is written in a way that servers interpret differently. */
    boolean contested() {
        return false;
    }

    /** The raw form, owned by the caller; empty if the elements were not read. */
    ByteBuf take() {
        return Unpooled.EMPTY_BUFFER;
    }

    /** The capacity of the raw form, in bytes, even after it was taken. */
    long held() {
        return 0;
    }

    void release() {}
}

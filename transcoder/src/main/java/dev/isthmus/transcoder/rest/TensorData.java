package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.ValueReader;
import io.netty.buffer.ByteBuf;

/** Reads one tensor's {@code data}; owns what it makes of it until {@link #take()}. */
sealed interface TensorData extends ValueReader permits DataReader, DataScanner, ElementCount {

    /** That what was read has the shape; a flat array has any. */
    void requireShape(Shape shape);

    /** Whether any element is written in a way that servers read differently. */
    boolean contested();

    /** The raw form, owned by the caller; empty where the elements were not read. */
    ByteBuf take();

    /** Bytes of memory of the raw form, whether it was taken or not. */
    long held();

    void release();
}

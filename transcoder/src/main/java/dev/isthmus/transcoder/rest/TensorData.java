package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.ValueReader;
import io.netty.buffer.ByteBuf;

/** Reads one tensor's {@code data}; owns the result until {@link #take()}. */
sealed interface TensorData extends ValueReader permits DataReader, CountedData {

    /** Whether it was null, which is as good as absent. */
    boolean absent();

    /**
     * Requires that the data has this shape; a flat array matches any shape with as many elements, a value without an
     * array only a scalar's.
     */
    void requireShape(Shape shape);

    /** Whether any element is written in a way that servers interpret differently. */
    boolean contested();

    /** The raw form, owned by the caller; empty if the elements were not read. */
    ByteBuf take();

    /** The capacity of the raw form, in bytes, even after it was taken. */
    long held();

    void release();
}

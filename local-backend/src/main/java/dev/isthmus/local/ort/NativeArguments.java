package dev.isthmus.local.ort;

import dev.isthmus.oip.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The arguments of a run where the C API wants them: outside the heap. For one run after the other, of any model; no memory
 * is taken anew but for a model that needs more of it. Not thread-safe.
 */
final class NativeArguments {
    /** Addresses that functions write results to. */
    private static final int CELLS = 3;

    private MemorySegment memory = MemorySegment.NULL;
    /** Of the inputs, in the model's order. */
    private Shape[] shapes = {};

    private int inputs;
    private int outputs;
    private int rank;

    /** Makes room for a run. What was held before was released. */
    void prepare(NativeSession graph) {
        inputs = graph.inputs();
        outputs = graph.outputs();
        rank = graph.rank();
        // An input has a value and its memory's two ends, an output a value and a name.
        long size = (CELLS + rank + 3L * inputs + 2L * outputs) * ValueLayout.JAVA_LONG.byteSize();
        if (memory.byteSize() < size) {
            memory = Arena.ofAuto().allocate(size, ValueLayout.JAVA_LONG.byteSize());
        }
        memory.fill((byte) 0);
        if (shapes.length < inputs) {
            shapes = new Shape[inputs];
        }
    }

    private long at(int index) {
        return memory.address() + index * ValueLayout.JAVA_LONG.byteSize();
    }

    /** The address of one of three results. */
    long cell(int number) {
        return at(number);
    }

    /** Where extents lie, until they are others. */
    long shape(Shape shape) {
        for (int i = 0; i < shape.rank(); i++) {
            memory.setAtIndex(ValueLayout.JAVA_LONG, CELLS + i, shape.extent(i));
        }
        return at(CELLS);
    }

    private int firstInput() {
        return CELLS + rank;
    }

    /** Where the values of the inputs are, in the model's order. */
    long inputs() {
        return at(firstInput());
    }

    /**
     * Gives an input.
     *
     * @param value taken
     * @param start the address of its elements; 0 where they are the value's own
     */
    void input(TensorSpec port, Shape shape, long value, long start, long bytes) {
        shapes[port.index()] = shape;
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstInput() + port.index(), value);
        int ends = firstInput() + inputs + 2 * port.index();
        memory.setAtIndex(ValueLayout.JAVA_LONG, ends, start);
        memory.setAtIndex(ValueLayout.JAVA_LONG, ends + 1, start + bytes);
    }

    /** The shape of an input that was given, by its index. */
    Shape inputShape(int index) {
        return shapes[index];
    }

    /** Whether this memory is that of an input, or a part: a model may hand an input through as it is. */
    boolean overlap(long start, long bytes) {
        for (int i = 0; i < inputs; i++) {
            int ends = firstInput() + inputs + 2 * i;
            if (start < memory.getAtIndex(ValueLayout.JAVA_LONG, ends + 1)
                    && memory.getAtIndex(ValueLayout.JAVA_LONG, ends) < start + bytes) {
                return true;
            }
        }
        return false;
    }

    private int firstOutput() {
        return firstInput() + 3 * inputs;
    }

    /** Where the values of the outputs are, in the order in which they are wanted. */
    long outputs() {
        return at(firstOutput());
    }

    /** Where the pointers to their names are. */
    long outputNames() {
        return at(firstOutput() + outputs);
    }

    /**
     * Wants an output.
     *
     * @param name its address
     * @param value taken: the tensor to write to; 0 where ONNX Runtime makes one
     */
    void output(int number, long name, long value) {
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstOutput() + number, value);
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstOutput() + outputs + number, name);
    }

    /** The value of an output, which stays here. */
    long output(int number) {
        return memory.getAtIndex(ValueLayout.JAVA_LONG, firstOutput() + number);
    }

    /** The value of an output, which is the caller's from now on. */
    long takeOutput(int number) {
        long value = output(number);
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstOutput() + number, 0);
        return value;
    }

    void releaseInputs() {
        release(firstInput(), inputs);
    }

    void releaseOutputs() {
        release(firstOutput(), outputs);
    }

    private void release(int first, int count) {
        for (int i = first; i < first + count; i++) {
            long value = memory.getAtIndex(ValueLayout.JAVA_LONG, i);
            if (value != 0) {
                OrtApi.release(value);
                memory.setAtIndex(ValueLayout.JAVA_LONG, i, 0);
            }
        }
    }
}

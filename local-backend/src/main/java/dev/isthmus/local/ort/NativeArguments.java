package dev.isthmus.local.ort;

import dev.isthmus.oip.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The arguments of a run in direct memory, as the C API requires. Reused for consecutive runs of any models; memory is
 * reallocated only for a model that needs more. Not thread-safe.
 */
final class NativeArguments {
    /** The number of cells that functions write results to. */
    private static final int CELLS = 3;

    /** The bytes for copies of small inputs. */
    private static final int COPIES = 8 << 10;

    private MemorySegment memory = MemorySegment.NULL;
    private MemorySegment copies = MemorySegment.NULL;
    private long copied;
    /** The inputs' shapes, in the model's order. */
    private Shape[] shapes = {};

    private int inputs;
    private int outputs;
    private int rank;

    /** Prepares for a run. Values of the previous run must have been released. */
    void prepare(NativeSession graph) {
        inputs = graph.inputs();
        outputs = graph.outputs();
        rank = graph.rank();
        // An input has a value and the start and end of its memory, an output a value and a name.
        long size = (CELLS + rank + 3L * inputs + 2L * outputs) * ValueLayout.JAVA_LONG.byteSize();
        if (memory.byteSize() < size) {
            memory = Arena.ofAuto().allocate(size, ValueLayout.JAVA_LONG.byteSize());
        }
        memory.fill((byte) 0);
        copied = 0;
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

    /** Aligned memory for the copy of a small input, valid for this run; {@link NativeMemory#NONE} if there is not enough. */
    long copy(int bytes) {
        if (bytes > COPIES - copied) {
            return NativeMemory.NONE;
        }
        if (copied == 0 && copies.byteSize() == 0) {
            copies = Arena.ofAuto().allocate(COPIES, NativeMemory.ALIGNMENT);
        }
        long start = copies.address() + copied;
        copied = NativeMemory.aligned(copied + bytes);
        return start;
    }

    /** Writes a shape; returns its address, valid until the next call. */
    long shape(Shape shape) {
        for (int i = 0; i < shape.rank(); i++) {
            memory.setAtIndex(ValueLayout.JAVA_LONG, CELLS + i, shape.extent(i));
        }
        return at(CELLS);
    }

    private int firstInput() {
        return CELLS + rank;
    }

    /** The address of the inputs' values, in the model's order. */
    long inputs() {
        return at(firstInput());
    }

    /**
     * Sets an input.
     *
     * @param value taken
     * @param start the address of its elements; 0 if the value owns them
     */
    void input(TensorSpec spec, Shape shape, long value, long start, long bytes) {
        shapes[spec.index()] = shape;
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstInput() + spec.index(), value);
        int ends = firstInput() + inputs + 2 * spec.index();
        memory.setAtIndex(ValueLayout.JAVA_LONG, ends, start);
        memory.setAtIndex(ValueLayout.JAVA_LONG, ends + 1, start + bytes);
    }

    Shape inputShape(int index) {
        return shapes[index];
    }

    /** Whether this memory overlaps an input: a model may return an input unchanged. */
    boolean overlapsInput(long start, long bytes) {
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

    /** The address of the outputs' values, in the requested order. */
    long outputs() {
        return at(firstOutput());
    }

    /** The address of the pointers to the outputs' names. */
    long outputNames() {
        return at(firstOutput() + outputs);
    }

    /**
     * Sets an output.
     *
     * @param name the address of its name
     * @param value taken: the tensor to write to; 0 to let ONNX Runtime create one
     */
    void output(int number, long name, long value) {
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstOutput() + number, value);
        memory.setAtIndex(ValueLayout.JAVA_LONG, firstOutput() + outputs + number, name);
    }

    /** The value of an output (borrowed). */
    long output(int number) {
        return memory.getAtIndex(ValueLayout.JAVA_LONG, firstOutput() + number);
    }

    /** The value of an output, owned by the caller. */
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

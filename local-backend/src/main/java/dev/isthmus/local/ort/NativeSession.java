package dev.isthmus.local.ort;

import ai.onnxruntime.OrtSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.Stream;

/**
 * A session as the C API runs it. The names lie outside the heap as long as this does, in the model's order.
 *
 * @param session its pointer, as long as it is open
 * @param inputPointers to the names of all inputs
 * @param outputPointers to the names of all outputs
 * @param rank the most dimensions that one of them has
 */
record NativeSession(long session, MemorySegment inputPointers, MemorySegment outputPointers, int rank) {

    static NativeSession of(OrtSession session, Signature signature) {
        Arena arena = Arena.ofAuto();
        int rank = Stream.concat(signature.inputs().stream(), signature.outputs().stream())
                .mapToInt(port -> port.shape().rank())
                .max()
                .orElse(0);
        return new NativeSession(
                OrtAccess.handle(session),
                pointers(signature.inputs(), arena),
                pointers(signature.outputs(), arena),
                rank);
    }

    private static MemorySegment pointers(List<TensorSpec> ports, Arena arena) {
        MemorySegment pointers = arena.allocate(ValueLayout.JAVA_LONG, ports.size());
        for (TensorSpec port : ports) {
            long name = arena.allocateFrom(port.name()).address();
            pointers.setAtIndex(ValueLayout.JAVA_LONG, port.index(), name);
        }
        return pointers;
    }

    int inputs() {
        return count(inputPointers);
    }

    int outputs() {
        return count(outputPointers);
    }

    private static int count(MemorySegment pointers) {
        return (int) (pointers.byteSize() / ValueLayout.JAVA_LONG.byteSize());
    }

    long inputNames() {
        return inputPointers.address();
    }

    long outputName(TensorSpec port) {
        return outputPointers.getAtIndex(ValueLayout.JAVA_LONG, port.index());
    }
}

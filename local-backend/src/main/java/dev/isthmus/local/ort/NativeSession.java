package dev.isthmus.local.ort;

import ai.onnxruntime.OrtSession;
import dev.isthmus.oip.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.Stream;

/**
 * A session for the C API. The names are in direct memory that lives as long as this object, in the model's order.
 *
 * @param session the session's pointer, valid while it is open
 * @param inputPointers the pointers to the names of all inputs
 * @param outputPointers the pointers to the names of all outputs
 * @param rank the highest rank of any input or output
 */
record NativeSession(long session, MemorySegment inputPointers, MemorySegment outputPointers, int rank) {

    static NativeSession of(OrtSession session, Signature signature) {
        Arena arena = Arena.ofAuto();
        int rank = Stream.concat(signature.inputs().stream(), signature.outputs().stream())
                .mapToInt(spec ->
                        spec.anyShape() ? Shape.MAX_RANK : spec.inModel().rank())
                .max()
                .orElse(0);
        return new NativeSession(
                OrtAccess.handle(session),
                pointers(signature.inputs(), arena),
                pointers(signature.outputs(), arena),
                rank);
    }

    private static MemorySegment pointers(List<TensorSpec> specs, Arena arena) {
        MemorySegment pointers = arena.allocate(ValueLayout.JAVA_LONG, specs.size());
        for (TensorSpec spec : specs) {
            long name = arena.allocateFrom(spec.name()).address();
            pointers.setAtIndex(ValueLayout.JAVA_LONG, spec.index(), name);
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

    long outputName(TensorSpec spec) {
        return outputPointers.getAtIndex(ValueLayout.JAVA_LONG, spec.index());
    }
}

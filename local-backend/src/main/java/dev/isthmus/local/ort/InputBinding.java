package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The native input tensors of a run: on the request's memory if it is contiguous and aligned, otherwise on a copy. ONNX
 * Runtime reads any address, but its kernels sum in another order at another alignment: the same numbers would have
 * other results. The request must not be released before this is closed.
 */
final class InputBinding implements AutoCloseable {
    /** The address for tensors without elements. */
    private static final long EMPTY =
            Arena.global().allocate(Long.BYTES, NativeMemory.ALIGNMENT).address();

    private final NativeArguments arguments;
    private final ByteBufAllocator allocator;
    private final CopyCounter copies;
    private List<ByteBuf> gathered = List.of();

    /** @param arguments prepared; holds the native tensors until this is closed */
    InputBinding(NativeArguments arguments, ByteBufAllocator allocator, CopyCounter copies) {
        this.arguments = arguments;
        this.allocator = allocator;
        this.copies = copies;
    }

    /**
     * Creates the inputs of a run.
     *
     * @param request borrowed; checked against the signature
     */
    void add(Signature signature, InferRequest request) throws OrtException {
        List<Tensor> inputs = request.inputs();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            add(Objects.requireNonNull(signature.input(input.name())), input);
        }
    }

    private void add(TensorSpec spec, Tensor input) throws OrtException {
        int bytes = input.data().readableBytes();
        Shape shape = spec.toModel(input.shape());
        if (spec.type() == DataType.BYTES) {
            copies.gathered(bytes);
            long value = OrtStrings.tensor(contiguous(input.data()), bytes, shape);
            arguments.input(spec, shape, value, 0, 0);
            return;
        }
        long start = aligned(input.data(), bytes);
        long value = OrtApi.tensor(
                start, bytes, arguments.shape(shape), shape.rank(), OrtTypes.number(spec.type()), arguments.cell(0));
        arguments.input(spec, shape, value, start, bytes);
    }

    /** The address of the data in contiguous direct memory; copies the data if necessary. */
    private long contiguous(ByteBuf data) {
        if (!data.isReadable()) {
            return EMPTY;
        }
        long start = NativeMemory.of(data);
        return start == NativeMemory.NONE ? gather(data, data.readableBytes()) : start;
    }

    /** The address of the data in contiguous, aligned direct memory; copies the data if necessary. */
    private long aligned(ByteBuf data, int bytes) {
        if (bytes == 0) {
            return EMPTY;
        }
        long start = NativeMemory.of(data);
        if (start != NativeMemory.NONE && NativeMemory.isAligned(start)) {
            return start;
        }
        copies.gathered(bytes);
        long small = start == NativeMemory.NONE ? NativeMemory.NONE : arguments.copy(bytes);
        if (small == NativeMemory.NONE) {
            return gather(data, bytes);
        }
        MemorySegment.copy(NativeMemory.ALL, start, NativeMemory.ALL, small, bytes);
        return small;
    }

    private long gather(ByteBuf data, int bytes) {
        ByteBuf whole = NativeMemory.allocate(allocator, bytes);
        if (gathered.isEmpty()) {
            gathered = new ArrayList<>();
        }
        gathered.add(whole);
        whole.writeBytes(data, data.readerIndex(), bytes);
        return NativeMemory.address(whole);
    }

    @Override
    public void close() {
        arguments.releaseInputs();
        gathered.forEach(ByteBuf::release);
    }
}

package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/**
 * The native input tensors of a run: in address on the request's memory if possible, otherwise on a copy. The request
 * must not be released before this is closed.
 */
final class InputBinding implements AutoCloseable {
    /** The address for tensors without elements. */
    private static final long EMPTY =
            Arena.global().allocate(Long.BYTES, Long.BYTES).address();

    private final NativeArguments arguments;
    private final ByteBufAllocator allocator;
    private final CopyCounter copies;
    private List<ByteBuf> gathered = List.of();

    private InputBinding(NativeArguments arguments, ByteBufAllocator allocator, CopyCounter copies) {
        this.arguments = arguments;
        this.allocator = allocator;
        this.copies = copies;
    }

    /**
     * Creates the inputs of a run.
     *
     * @param request borrowed; checked against the signature
     * @param arguments prepared; holds the native tensors until this is closed
     */
    static InputBinding of(
            Signature signature,
            InferRequest request,
            NativeArguments arguments,
            ByteBufAllocator allocator,
            CopyCounter copies)
            throws OrtException {
        List<Tensor> inputs = request.inputs();
        InputBinding binding = new InputBinding(arguments, allocator, copies);
        try {
            for (int i = 0; i < inputs.size(); i++) {
                TensorSpec spec = signature.input(inputs.get(i).name());
                if (spec == null) {
                    throw new IllegalArgumentException("the request was not checked");
                }
                binding.add(spec, inputs.get(i));
            }
            return binding;
        } catch (RuntimeException | OrtException e) {
            binding.close();
            throw e;
        }
    }

    private void add(TensorSpec spec, Tensor input) throws OrtException {
        int bytes = input.data().readableBytes();
        if (spec.type() == DataType.BYTES) {
            copies.gathered(bytes);
            long value = OrtStrings.tensor(address(input.data(), 1), bytes, input.shape());
            arguments.input(spec, input.shape(), value, 0, 0);
            return;
        }
        int before = gathered.size();
        long start = address(input.data(), input.dataType().size());
        if (gathered.size() > before) {
            copies.gathered(bytes);
        }
        long value = OrtApi.tensor(
                start,
                bytes,
                arguments.shape(input.shape()),
                input.shape().rank(),
                OrtTypes.number(spec.type()),
                arguments.cell(0));
        arguments.input(spec, input.shape(), value, start, bytes);
    }

    /**
     * The address of the data in contiguous direct memory, which ONNX Runtime requires; copies the data if necessary.
     */
    private long address(ByteBuf data, int size) {
        if (!data.isReadable()) {
            return EMPTY;
        }
        long start = NativeMemory.of(data, size);
        return start == NativeMemory.NONE ? gather(data) : start;
    }

    private long gather(ByteBuf data) {
        ByteBuf whole = allocator.directBuffer(data.readableBytes());
        if (gathered.isEmpty()) {
            gathered = new ArrayList<>();
        }
        gathered.add(whole);
        whole.writeBytes(data, data.readerIndex(), data.readableBytes());
        return NativeMemory.address(whole);
    }

    /** The arguments with the inputs. */
    NativeArguments arguments() {
        return arguments;
    }

    @Override
    public void close() {
        arguments.releaseInputs();
        gathered.forEach(ByteBuf::release);
    }
}

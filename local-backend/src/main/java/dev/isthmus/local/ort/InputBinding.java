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
 * A request's tensors as a run takes them: on the memory where they lie where that is possible, on a copy else. The request
 * must stay until this is closed.
 */
final class InputBinding implements AutoCloseable {
    /** For tensors without elements, which have no memory. */
    private static final long NOTHING =
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
     * Before a run.
     *
     * @param request borrowed; checked against the signature
     * @param arguments prepared; takes the tensors until this is closed
     */
    static InputBinding of(
            Signature signature,
            InferRequest request,
            NativeArguments arguments,
            ByteBufAllocator allocator,
            CopyCounter copies)
            throws OrtException {
        List<Tensor> inputs = request.inputs();
        InputBinding feed = new InputBinding(arguments, allocator, copies);
        try {
            for (int i = 0; i < inputs.size(); i++) {
                TensorSpec port = signature.input(inputs.get(i).name());
                if (port == null) {
                    throw new IllegalArgumentException("the request was not checked");
                }
                feed.add(port, inputs.get(i));
            }
            return feed;
        } catch (RuntimeException | OrtException e) {
            feed.close();
            throw e;
        }
    }

    private void add(TensorSpec port, Tensor input) throws OrtException {
        int bytes = input.data().readableBytes();
        if (port.type() == DataType.BYTES) {
            copies.gathered(bytes);
            arguments.input(port, input.shape(), OrtStrings.tensor(place(input.data(), 1), bytes, input.shape()), 0, 0);
            return;
        }
        int before = gathered.size();
        long start = place(input.data(), input.dataType().size());
        if (gathered.size() > before) {
            copies.gathered(bytes);
        }
        long value = OrtApi.tensor(
                start,
                bytes,
                arguments.shape(input.shape()),
                input.shape().rank(),
                OrtTypes.number(port.type()),
                arguments.cell(0));
        arguments.input(port, input.shape(), value, start, bytes);
    }

    /** ONNX Runtime reads one piece of memory outside the heap: where that is, or is now. */
    private long place(ByteBuf data, int size) {
        if (!data.isReadable()) {
            return NOTHING;
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

    /** With the inputs. */
    NativeArguments arguments() {
        return arguments;
    }

    @Override
    public void close() {
        arguments.releaseInputs();
        gathered.forEach(ByteBuf::release);
    }
}

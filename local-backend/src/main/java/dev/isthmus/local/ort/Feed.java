package dev.isthmus.local.ort;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A request's tensors as a run takes them: on the memory where they lie where that is possible, on a copy else. The request
 * must stay until this is closed.
 */
final class Feed implements AutoCloseable {
    private final OrtRuntime runtime;
    private final ByteBufAllocator allocator;
    private final Copies copies;
    private final List<ByteBuffer> memory;
    private Map<String, OnnxTensor> tensors = Map.of();
    private List<ByteBuf> gathered = List.of();

    private Feed(OrtRuntime runtime, ByteBufAllocator allocator, Copies copies, int size) {
        this.runtime = runtime;
        this.allocator = allocator;
        this.copies = copies;
        this.memory = new ArrayList<>(size);
    }

    /** @param request borrowed; checked against the signature */
    static Feed of(
            OrtRuntime runtime, Signature signature, InferRequest request, ByteBufAllocator allocator, Copies copies)
            throws OrtException {
        List<Tensor> inputs = request.inputs();
        Feed feed = new Feed(runtime, allocator, copies, inputs.size());
        try {
            for (int i = 0; i < inputs.size(); i++) {
                Port port = signature.input(inputs.get(i).name());
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

    private void add(Port port, Tensor input) throws OrtException {
        OnnxTensor tensor = tensor(port, input);
        // Most models have one input: no hash table for it.
        if (tensors.isEmpty()) {
            tensors = Map.of(port.name(), tensor);
            return;
        }
        if (tensors.size() == 1) {
            tensors = new HashMap<>(tensors);
        }
        tensors.put(port.name(), tensor);
    }

    private OnnxTensor tensor(Port port, Tensor input) throws OrtException {
        if (port.type() == DataType.BYTES) {
            ByteBuffer elements = Memory.of(input.data(), 1);
            copies.gathered(input.data().readableBytes());
            return OrtStrings.tensor(elements == null ? gather(input.data()) : elements, input.shape());
        }
        ByteBuffer bytes = Memory.of(input.data(), input.dataType().size());
        if (bytes == null) {
            copies.gathered(input.data().readableBytes());
            bytes = gather(input.data());
        }
        memory.add(bytes);
        return runtime.tensor(bytes, input.shape().toArray(), port);
    }

    /** ONNX Runtime reads one piece of memory outside the heap: makes it. */
    private ByteBuffer gather(ByteBuf data) {
        ByteBuf whole = allocator.directBuffer(Math.max(1, data.readableBytes()));
        if (gathered.isEmpty()) {
            gathered = new ArrayList<>();
        }
        gathered.add(whole);
        whole.writeBytes(data, data.readerIndex(), data.readableBytes());
        return whole.nioBuffer();
    }

    Map<String, OnnxTensor> tensors() {
        return tensors;
    }

    /** Whether an output lies in the memory of an input: a model may hand an input through as it is. */
    boolean overlaps(ByteBuffer output) {
        long from = Memory.address(output);
        for (int i = 0; i < memory.size(); i++) {
            long start = Memory.address(memory.get(i));
            if (from < start + memory.get(i).remaining() && start < from + output.remaining()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void close() {
        tensors.values().forEach(OnnxTensor::close);
        gathered.forEach(ByteBuf::release);
    }
}

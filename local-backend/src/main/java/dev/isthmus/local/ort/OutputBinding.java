package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The outputs of one run. Those whose shape is known are written where the answer needs them: they are pinned to buffers of
 * the allocator. Others are handed out where ONNX Runtime has put them, unless they are so small that a copy costs less.
 * BYTES are copied, for the protocol lays them out in another way.
 */
final class OutputBinding implements AutoCloseable {
    /** Bytes of an output that are copied sooner than held. */
    static final int SMALL = 1024;

    private final OnnxModel model;
    private final NativeArguments arguments;
    private final ByteBufAllocator allocator;
    private final List<TensorSpec> wanted;
    private final @Nullable Tensor[] pinned;

    private OutputBinding(
            OnnxModel model, NativeArguments arguments, ByteBufAllocator allocator, List<TensorSpec> wanted) {
        this.model = model;
        this.arguments = arguments;
        this.allocator = allocator;
        this.wanted = wanted;
        this.pinned = new Tensor[wanted.size()];
    }

    /**
     * Before a run.
     *
     * @param request checked
     * @param arguments with the inputs; takes the outputs until this is closed
     * @param pinning whether outputs may be pinned
     */
    static OutputBinding of(
            OnnxModel model,
            InferRequest request,
            NativeArguments arguments,
            boolean pinning,
            ByteBufAllocator allocator)
            throws OrtException {
        Signature signature = model.signature();
        OutputBinding fetch = new OutputBinding(model, arguments, allocator, signature.wanted(request));
        try {
            for (int i = 0; i < fetch.pinned.length; i++) {
                TensorSpec port = fetch.wanted.get(i);
                ShapeRule rule = pinning ? signature.rule(port) : null;
                Shape shape = rule == null ? null : rule.shape(arguments);
                long value = shape == null ? 0 : fetch.pin(i, port, shape);
                arguments.output(i, model.graph().outputName(port), value);
            }
            return fetch;
        } catch (RuntimeException | OrtException e) {
            fetch.close();
            throw e;
        }
    }

    /** How many outputs there are. */
    int count() {
        return pinned.length;
    }

    private long pin(int at, TensorSpec port, Shape shape) throws OrtException {
        long size = Math.multiplyExact(shape.elementCount(), port.type().size());
        if (size == 0 || size > Integer.MAX_VALUE) {
            return 0;
        }
        ByteBuf data = allocator.directBuffer((int) size, (int) size).writerIndex((int) size);
        pinned[at] = new Tensor(port.name(), port.type(), shape, Map.of(), data);
        return OrtApi.tensor(
                NativeMemory.address(data),
                size,
                arguments.shape(shape),
                shape.rank(),
                OrtTypes.number(port.type()),
                arguments.cell(0));
    }

    /**
     * After a run.
     *
     * @return the outputs that were wanted, in that order, owned by the caller
     */
    List<Tensor> collect() throws OrtException {
        List<Tensor> outputs = new ArrayList<>(pinned.length);
        try {
            for (int i = 0; i < pinned.length; i++) {
                Tensor pin = pinned[i];
                pinned[i] = null;
                outputs.add(pin == null ? found(wanted.get(i), i) : pin);
            }
            return outputs;
        } catch (RuntimeException | OrtException e) {
            outputs.forEach(Tensor::release);
            throw e;
        }
    }

    private Tensor found(TensorSpec port, int at) throws OrtException {
        long value = arguments.output(at);
        OrtApi.describe(value, arguments.cell(0), arguments.cell(1), arguments.cell(2));
        int type = NativeMemory.ALL.get(ValueLayout.JAVA_INT, arguments.cell(0));
        if (type != OrtTypes.number(port.type())) {
            throw new IllegalStateException("output " + port.name() + " is of ONNX's type " + type);
        }
        Shape shape = shape(
                NativeMemory.ALL.get(ValueLayout.JAVA_LONG, arguments.cell(1)),
                Math.toIntExact(NativeMemory.ALL.get(ValueLayout.JAVA_LONG, arguments.cell(2))));
        return new Tensor(port.name(), port.type(), shape, Map.of(), data(port, at, shape));
    }

    private static Shape shape(long extents, int rank) {
        long[] shape = new long[rank];
        for (int i = 0; i < rank; i++) {
            shape[i] = NativeMemory.ALL.get(ValueLayout.JAVA_LONG, extents + i * ValueLayout.JAVA_LONG.byteSize());
        }
        return Shape.of(shape);
    }

    private ByteBuf data(TensorSpec port, int at, Shape shape) throws OrtException {
        if (port.type() == DataType.BYTES) {
            ByteBuf elements = OrtStrings.elements(arguments.output(at), shape, allocator);
            model.copies().copiedOut(elements.readableBytes());
            return elements;
        }
        int bytes = Math.toIntExact(
                Math.multiplyExact(shape.elementCount(), port.type().size()));
        if (bytes == 0) {
            return Unpooled.EMPTY_BUFFER;
        }
        long start = OrtApi.data(arguments.output(at), arguments.cell(0));
        // An input handed through is the request's memory, which ends with the run.
        if (bytes > SMALL && !arguments.overlap(start, bytes)) {
            return OrtOutput.of(model, arguments.takeOutput(at), start, bytes, allocator);
        }
        model.copies().copiedOut(bytes);
        return allocator
                .directBuffer(bytes)
                .writeBytes(NativeMemory.ALL.asSlice(start, bytes).asByteBuffer());
    }

    /** Gives back what was not collected. */
    @Override
    public void close() {
        arguments.releaseOutputs();
        for (Tensor pin : pinned) {
            if (pin != null) {
                pin.release();
            }
        }
    }
}

package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledDirectByteBuf;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The outputs of one run. Outputs of known shape are preallocated: ONNX Runtime writes them into buffers of the
 * allocator. Others are used in ONNX Runtime's memory, unless they are so small that a copy is cheaper. BYTES are
 * copied, because the protocol has another layout.
 */
final class OutputBinding implements AutoCloseable {
    /** Outputs up to this size are copied, in bytes. */
    static final int SMALL = 1024;

    private final OnnxModel model;
    private final NativeArguments arguments;
    private final ByteBufAllocator allocator;
    private final List<TensorSpec> wanted;
    /** Those that are preallocated or have been found; owned by this until all are collected. */
    private final @Nullable Tensor[] tensors;

    /**
     * The outputs of a run.
     *
     * @param request checked
     * @param arguments with the inputs; holds the outputs until this is closed
     */
    OutputBinding(OnnxModel model, InferRequest request, NativeArguments arguments, ByteBufAllocator allocator) {
        this.model = model;
        this.arguments = arguments;
        this.allocator = allocator;
        this.wanted = model.signature().requested(request);
        this.tensors = new Tensor[wanted.size()];
    }

    /** @param preallocating whether outputs may be preallocated */
    void prepare(boolean preallocating) throws OrtException {
        for (int i = 0; i < tensors.length; i++) {
            TensorSpec spec = wanted.get(i);
            ShapeRule rule = preallocating ? model.signature().rule(spec) : null;
            Shape shape = rule == null ? null : rule.shape(arguments);
            long value = shape == null ? 0 : preallocate(i, spec, shape);
            arguments.output(i, model.graph().outputName(spec), value);
        }
    }

    int count() {
        return tensors.length;
    }

    private long preallocate(int at, TensorSpec spec, Shape shape) throws OrtException {
        int size = bytes(spec, shape);
        if (size == 0) {
            return 0;
        }
        Shape shown = spec.toClient(shape);
        ByteBuf data = allocator.directBuffer(size, size).writerIndex(size);
        tensors[at] = new Tensor(spec.name(), spec.type(), shown, Map.of(), data);
        return OrtApi.tensor(
                NativeMemory.address(data),
                size,
                arguments.shape(shape),
                shape.rank(),
                OrtTypes.number(spec.type()),
                arguments.cell(0));
    }

    /** Inputs without elements may have extents of any size, and outputs all of them. */
    private int bytes(TensorSpec spec, Shape shape) {
        try {
            return Math.toIntExact(
                    Math.multiplyExact(shape.elementCount(), spec.type().size()));
        } catch (ArithmeticException tooMany) {
            throw OipException.invalid("model '" + model.ref().name() + "': output '" + spec.name() + "': at most "
                    + Integer.MAX_VALUE + " bytes can be sent, got shape " + shape + " of " + spec.type());
        }
    }

    /**
     * Takes the outputs of a run.
     *
     * @return the requested outputs, in the requested order, owned by the caller
     */
    List<Tensor> collect() throws OrtException {
        List<Tensor> outputs = new ArrayList<>(tensors.length);
        for (int i = 0; i < tensors.length; i++) {
            Tensor tensor = tensors[i];
            if (tensor == null) {
                tensor = found(wanted.get(i), i);
                tensors[i] = tensor;
            }
            outputs.add(tensor);
        }
        Arrays.fill(tensors, null);
        return outputs;
    }

    private Tensor found(TensorSpec spec, int at) throws OrtException {
        long value = arguments.output(at);
        OrtApi.describe(value, arguments.cell(0), arguments.cell(1), arguments.cell(2));
        int type = NativeMemory.ALL.get(ValueLayout.JAVA_INT, arguments.cell(0));
        if (type != OrtTypes.number(spec.type())) {
            throw new IllegalStateException("output " + spec.name() + " is of ONNX's type " + type);
        }
        long extents = NativeMemory.ALL.get(ValueLayout.JAVA_LONG, arguments.cell(1));
        long rank = NativeMemory.ALL.get(ValueLayout.JAVA_LONG, arguments.cell(2));
        Shape shape = Shape.of(NativeMemory.ALL
                .asSlice(extents, rank * ValueLayout.JAVA_LONG.byteSize())
                .toArray(ValueLayout.JAVA_LONG));
        if (spec.labelled() && !spec.fits(shape)) {
            throw new OipException(
                    ErrorCode.INTERNAL,
                    "model '" + model.ref().name() + "': output '" + spec.name() + "': shape " + spec.shape()
                            + " is expected, got " + shape);
        }
        return new Tensor(spec.name(), spec.type(), spec.toClient(shape), Map.of(), data(spec, at, shape));
    }

    private ByteBuf data(TensorSpec spec, int at, Shape shape) throws OrtException {
        if (spec.type() == DataType.BYTES) {
            ByteBuf elements = OrtStrings.elements(arguments.output(at), shape, allocator);
            model.copies().copiedOut(elements.readableBytes());
            return elements;
        }
        int bytes = bytes(spec, shape);
        if (bytes == 0) {
            return Unpooled.EMPTY_BUFFER;
        }
        long start = OrtApi.data(arguments.output(at), arguments.cell(0));
        // An input returned unchanged is the request's memory, which is valid only during the run.
        if (bytes > SMALL && !arguments.overlapsInput(start, bytes)) {
            return OrtOutput.of(model, arguments.takeOutput(at), start, bytes, allocator);
        }
        model.copies().copiedOut(bytes);
        return allocator
                .directBuffer(bytes)
                .writeBytes(NativeMemory.ALL.asSlice(start, bytes).asByteBuffer());
    }

    /** Releases outputs that were not collected. */
    @Override
    public void close() {
        arguments.releaseOutputs();
        for (Tensor tensor : tensors) {
            if (tensor != null) {
                tensor.release();
            }
        }
    }

    /**
     * An output in ONNX Runtime's memory. The last release of this buffer, on any thread, releases the value; the model
     * stays open until then.
     */
    private static final class OrtOutput extends UnpooledDirectByteBuf {
        private final OnnxModel model;
        private final long value;

        private OrtOutput(OnnxModel model, long value, long start, int bytes, ByteBufAllocator allocator) {
            super(allocator, NativeMemory.ALL.asSlice(start, bytes).asByteBuffer(), bytes);
            this.model = model;
            this.value = value;
        }

        /**
         * A buffer on a value's memory.
         *
         * @param model retained by the caller
         * @param value taken
         */
        static ByteBuf of(OnnxModel model, long value, long start, int bytes, ByteBufAllocator allocator) {
            if (!model.retain()) {
                throw new IllegalStateException("the model was closed during a run");
            }
            return new OrtOutput(model, value, start, bytes, allocator);
        }

        @Override
        protected void deallocate() {
            super.deallocate();
            OrtApi.release(value);
            model.releaseAsync();
        }
    }
}

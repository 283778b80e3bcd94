package dev.isthmus.local.ort;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The outputs of one run. Those whose shape is known are written where the answer needs them: they are pinned to buffers of
 * the allocator. Others are handed out where ONNX Runtime has put them, unless they are so small that a copy costs less.
 * BYTES are copied, for the protocol lays them out in another way.
 */
final class Fetch implements AutoCloseable {
    /** Bytes of an output that are copied sooner than held. */
    static final int SMALL = 1024;

    private final OnnxModel model;
    private final ByteBufAllocator allocator;
    private final List<Port> wanted;
    private final @Nullable Pin[] pins;
    private Map<String, OnnxTensor> pinned = Map.of();

    /** An output on memory of ours. */
    private record Pin(Shape shape, ByteBuf data) {}

    private Fetch(OnnxModel model, ByteBufAllocator allocator, List<Port> wanted) {
        this.model = model;
        this.allocator = allocator;
        this.wanted = wanted;
        this.pins = new Pin[wanted.size()];
    }

    /**
     * Before a run.
     *
     * @param request checked
     * @param pinning whether outputs may be pinned
     */
    static Fetch of(OnnxModel model, InferRequest request, boolean pinning, ByteBufAllocator allocator)
            throws OrtException {
        Fetch fetch = new Fetch(model, allocator, model.signature().wanted(request));
        try {
            for (int i = 0; i < fetch.pins.length; i++) {
                Port port = fetch.wanted.get(i);
                ShapeRule rule = pinning ? model.signature().rule(port) : null;
                long[] shape = rule == null ? null : rule.shape(request);
                if (shape != null) {
                    fetch.pin(i, port, shape);
                }
            }
            return fetch;
        } catch (RuntimeException | OrtException e) {
            fetch.close();
            throw e;
        }
    }

    private void pin(int at, Port port, long[] extents) throws OrtException {
        Shape shape = Shape.of(extents);
        long size = Math.multiplyExact(shape.elementCount(), port.type().size());
        if (size == 0 || size > Integer.MAX_VALUE) {
            return;
        }
        ByteBuf data = allocator.directBuffer((int) size, (int) size);
        pins[at] = new Pin(shape, data);
        if (pinned.isEmpty()) {
            pinned = new HashMap<>();
        }
        pinned.put(port.name(), model.runtime().tensor(data.nioBuffer(0, (int) size), extents, port));
        data.writerIndex((int) size);
    }

    /** The outputs that ONNX Runtime finds memory for. */
    Set<String> free() {
        if (pinned.isEmpty() && wanted == model.signature().outputs()) {
            return model.signature().outputNames();
        }
        Set<String> free = new LinkedHashSet<>();
        for (int i = 0; i < pins.length; i++) {
            if (pins[i] == null) {
                free.add(wanted.get(i).name());
            }
        }
        return free;
    }

    Map<String, OnnxTensor> pinned() {
        return pinned;
    }

    /**
     * After a run.
     *
     * @param result taken
     * @return the outputs that were wanted, in that order, owned by the caller
     */
    List<Tensor> collect(OrtSession.Result result, Feed feed) throws OrtException {
        Held held = new Held(result, model);
        List<Tensor> outputs = new ArrayList<>(pins.length);
        // In the result, what is pinned comes first.
        int at = pinned.size();
        try {
            for (int i = 0; i < pins.length; i++) {
                Port port = wanted.get(i);
                Pin pin = pins[i];
                if (pin == null) {
                    outputs.add(found(port, (OnnxTensor) result.get(at++), held, feed));
                } else {
                    pins[i] = null;
                    outputs.add(new Tensor(port.name(), port.type(), pin.shape, Map.of(), pin.data));
                }
            }
            return outputs;
        } catch (RuntimeException | OrtException e) {
            outputs.forEach(Tensor::release);
            throw e;
        } finally {
            held.release();
        }
    }

    private Tensor found(Port port, OnnxTensor tensor, Held held, Feed feed) throws OrtException {
        TensorInfo info = tensor.getInfo();
        if (OrtTypes.type(info) != port.type()) {
            throw new IllegalStateException("output " + port.name() + " is " + info);
        }
        Shape shape = Shape.of(info.getShape());
        return new Tensor(port.name(), port.type(), shape, Map.of(), data(port, tensor, shape, held, feed));
    }

    private ByteBuf data(Port port, OnnxTensor tensor, Shape shape, Held held, Feed feed) throws OrtException {
        if (port.type() == DataType.BYTES) {
            ByteBuf elements = OrtStrings.elements(tensor, shape, allocator);
            model.copies().copiedOut(elements.readableBytes());
            return elements;
        }
        if (shape.elementCount() == 0) {
            return Unpooled.EMPTY_BUFFER;
        }
        ByteBuffer memory = model.runtime().elements(tensor);
        // An input handed through is the request's memory, which ends with the run.
        if (memory.remaining() > SMALL && memory.isDirect() && !feed.overlaps(memory)) {
            return held.view(memory, allocator);
        }
        model.copies().copiedOut(memory.remaining());
        return allocator.directBuffer(memory.remaining()).writeBytes(memory);
    }

    /** Gives back what was not collected. */
    @Override
    public void close() {
        pinned.values().forEach(OnnxTensor::close);
        for (Pin pin : pins) {
            if (pin != null) {
                pin.data.release();
            }
        }
    }
}

package dev.isthmus.local.translate;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.BaseNDManager;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrayAdapter;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Creates a translator's arrays on the heap. The engine's own arrays take native memory, support neither INT16 nor the
 * larger unsigned integers, and lose bytes of strings. As with those, arithmetic requires another engine.
 */
final class ArrayManager extends BaseNDManager {
    private static final String ENGINE = "OnnxRuntime";

    ArrayManager(NDManager parent) {
        super(parent, Device.cpu());
    }

    /** Converts a tensor to an array of the same name. The elements are copied, so that a translator may keep them. */
    NDArray array(Tensor tensor) {
        Shape shape = ArrayTypes.djl(tensor.shape());
        ByteBuf data = tensor.data();
        NDArray array;
        if (tensor.dataType().fixedSize()) {
            ByteBuffer copy = allocateDirect(data.readableBytes());
            data.getBytes(data.readerIndex(), copy);
            array = new FixedArray(this, shape, ArrayTypes.djl(tensor.dataType()), copy);
        } else {
            array = new BytesArray(this, shape, elements(data));
        }
        array.setName(tensor.name());
        return array;
    }

    private static List<byte[]> elements(ByteBuf data) {
        List<byte[]> elements = new ArrayList<>();
        int at = data.readerIndex();
        while (at < data.writerIndex()) {
            byte[] element = new byte[data.getIntLE(at)];
            data.getBytes(at + Integer.BYTES, element);
            elements.add(element);
            at += Integer.BYTES + element.length;
        }
        return elements;
    }

    @Override
    public NDArray create(Buffer data, Shape shape, DataType type) {
        int count = Math.toIntExact(shape.size());
        Buffer source = data.duplicate();
        validateBuffer(source, type, count);
        ByteBuffer copy = allocateDirect(Math.multiplyExact(count, type.getNumOfBytes()));
        copyBuffer(source, copy);
        return new FixedArray(this, shape, type, copy);
    }

    @Override
    public NDArray create(String[] data, Charset charset, Shape shape) {
        if (shape.size() != data.length) {
            throw new IllegalArgumentException("shape " + shape + " does not have " + data.length + " elements");
        }
        return new BytesArray(
                this,
                shape,
                Arrays.stream(data).map(element -> element.getBytes(charset)).toList());
    }

    @Override
    public NDArray from(NDArray array) {
        if (array instanceof FixedArray || array instanceof BytesArray) {
            return array;
        }
        NDArray copy = array.getDataType() == DataType.STRING
                ? create(array.toStringArray(), array.getShape())
                : create(array.toByteBuffer(), array.getShape(), array.getDataType());
        copy.setName(array.getName());
        return copy;
    }

    /** Allocates on the heap, despite its name. */
    @Override
    public ByteBuffer allocateDirect(int capacity) {
        return ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Arrays are on the heap whatever the device. */
    @Override
    public NDManager newSubManager(Device on) {
        ArrayManager manager = new ArrayManager(this);
        attachInternal(manager.uid, manager);
        return manager;
    }

    @Override
    public Engine getEngine() {
        return Engine.getEngine(ENGINE);
    }

    @Override
    public void close() {
        super.close();
        if (alternativeManager != null) {
            alternativeManager.close();
        }
    }

    /** An array on the heap, which can have other shapes. */
    abstract static class HeapArray extends NDArrayAdapter {
        final ArrayManager arrays;

        HeapArray(ArrayManager manager, Shape shape, DataType type) {
            super(manager, manager.alternativeManager, shape, type, NDManager.nextUid());
            this.arrays = manager;
        }

        /** The same elements in this shape, which has as many. */
        abstract NDArray shaped(Shape other);

        @Override
        public final NDArray reshape(Shape wanted) {
            return shaped(Reshape.reshaped(getShape(), wanted));
        }

        @Override
        public final NDArray expandDims(int axis) {
            return reshape(Reshape.expanded(getShape(), axis));
        }

        @Override
        public final NDArray squeeze(int[] axes) {
            return reshape(Reshape.squeezed(getShape(), axes));
        }

        /** Nothing to do: its memory is garbage-collected. */
        @Override
        public final void detach() {}
    }

    /** An array on the heap of fixed-size elements, little-endian. */
    private static final class FixedArray extends HeapArray {
        private ByteBuffer data;

        /** @param data the elements, from index 0 to the capacity; not copied */
        FixedArray(ArrayManager manager, Shape shape, DataType type, ByteBuffer data) {
            super(manager, shape, type);
            this.data = data;
        }

        /** A view of the elements: writing to it changes the array. */
        @Override
        public ByteBuffer toByteBuffer(boolean tryDirect) {
            return data.duplicate().clear().order(ByteOrder.LITTLE_ENDIAN);
        }

        @Override
        public void intern(NDArray replaced) {
            ByteBuffer other = replaced.toByteBuffer();
            data = ByteBuffer.allocate(other.remaining()).put(other);
            shape = replaced.getShape();
            dataType = replaced.getDataType();
        }

        @Override
        NDArray shaped(Shape other) {
            return new FixedArray(arrays, other, getDataType(), data);
        }

        @Override
        public NDArray flatten() {
            return reshape(new Shape(-1));
        }
    }
}

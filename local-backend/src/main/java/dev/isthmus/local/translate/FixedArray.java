package dev.isthmus.local.translate;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrayAdapter;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** An array on the heap of fixed-size elements, little-endian. */
final class FixedArray extends NDArrayAdapter {
    private final ArrayManager arrays;
    private ByteBuffer data;

    /** @param data the elements, from index 0 to the capacity; not copied */
    FixedArray(ArrayManager manager, Shape shape, DataType type, ByteBuffer data) {
        super(manager, manager.alternative(), shape, type, NDManager.nextUid());
        this.arrays = manager;
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
    public NDArray reshape(Shape wanted) {
        return new FixedArray(arrays, Reshape.reshaped(getShape(), wanted), getDataType(), data);
    }

    @Override
    public NDArray flatten() {
        return reshape(new Shape(-1));
    }

    @Override
    public NDArray expandDims(int axis) {
        return reshape(Reshape.expanded(getShape(), axis));
    }

    @Override
    public NDArray squeeze(int[] axes) {
        return reshape(Reshape.squeezed(getShape(), axes));
    }

    /** Nothing to do: its memory is garbage-collected. */
    @Override
    public void detach() {}
}

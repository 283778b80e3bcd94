package dev.isthmus.local.translate;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.List;

/** An array of BYTES elements, which may be text of any charset or binary. */
final class BytesArray extends ArrayManager.HeapArray {
    private final List<byte[]> elements;

    /** @param elements as many as the shape has */
    BytesArray(ArrayManager manager, Shape shape, List<byte[]> elements) {
        super(manager, shape, DataType.STRING);
        this.elements = elements;
    }

    List<byte[]> elements() {
        return elements;
    }

    @Override
    public String[] toStringArray(Charset charset) {
        return elements.stream().map(element -> new String(element, charset)).toArray(String[]::new);
    }

    /**
     * The only element.
     *
     * @throws IllegalArgumentException if there are none or several
     */
    @Override
    public ByteBuffer toByteBuffer(boolean tryDirect) {
        if (elements.size() != 1) {
            throw new IllegalArgumentException(
                    "tensor '" + getName() + "' has " + elements.size() + " elements, one is expected");
        }
        return ByteBuffer.wrap(elements.getFirst());
    }

    @Override
    NDArray shaped(Shape other) {
        return new BytesArray(arrays, other, elements);
    }

    @Override
    public void intern(NDArray replaced) {
        throw new UnsupportedOperationException("elements of strings cannot be replaced");
    }
}

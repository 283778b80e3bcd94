package dev.isthmus.local.translate;

import ai.djl.ndarray.BytesSupplier;
import ai.djl.ndarray.NDArray;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Converts a translator's results to tensors. Owns the tensors until they are {@linkplain #take() taken}. */
final class TranslatedTensors implements AutoCloseable {
    private final ByteBufAllocator allocator;
    private List<Tensor> tensors = new ArrayList<>();

    TranslatedTensors(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /**
     * Adds an array.
     *
     * @param shape the shape, which its elements must fill
     * @throws IllegalArgumentException if the protocol has no such datatype, or the elements do not fill the shape
     */
    void add(String name, NDArray array, Shape shape) {
        DataType type = ArrayTypes.oip(array.getDataType())
                .orElseThrow(() -> new IllegalArgumentException(
                        "tensor '" + name + "': the protocol has no datatype " + array.getDataType()));
        if (type == DataType.BYTES) {
            add(name, shape, elements(array));
            return;
        }
        ByteBuffer bytes = array.toByteBuffer();
        long expected = Math.multiplyExact(shape.elementCount(), type.size());
        if (bytes.remaining() != expected) {
            throw new IllegalArgumentException("tensor '" + name + "': shape " + shape + " of " + type + " needs "
                    + expected + " bytes, got " + bytes.remaining());
        }
        ByteBuf data = allocator.directBuffer(Math.max(1, bytes.remaining()));
        tensors.add(new Tensor(name, type, shape, Map.of(), data.writeBytes(bytes)));
    }

    /** Adds a value that is not an array, for example text or JSON, as one BYTES element. */
    void add(String name, BytesSupplier value, int rank) {
        long[] extents = new long[rank];
        Arrays.fill(extents, 1);
        add(name, Shape.of(extents), List.of(value.getAsBytes()));
    }

    private void add(String name, Shape shape, List<byte[]> elements) {
        if (elements.size() != shape.elementCount()) {
            throw new IllegalArgumentException("tensor '" + name + "': shape " + shape + " has " + shape.elementCount()
                    + " elements, got " + elements.size());
        }
        int size = 0;
        for (byte[] element : elements) {
            size = Math.addExact(size, Math.addExact(Integer.BYTES, element.length));
        }
        ByteBuf data = allocator.directBuffer(Math.max(1, size));
        for (byte[] element : elements) {
            data.writeIntLE(element.length).writeBytes(element);
        }
        tensors.add(new Tensor(name, DataType.BYTES, shape, Map.of(), data));
    }

    /** Arrays of other engines have only text. */
    private static List<byte[]> elements(NDArray array) {
        return array instanceof BytesArray bytes
                ? bytes.elements()
                : Arrays.stream(array.toStringArray())
                        .map(element -> element.getBytes(StandardCharsets.UTF_8))
                        .toList();
    }

    /** The tensors added so far (borrowed). */
    List<Tensor> tensors() {
        return tensors;
    }

    /** The tensors added, owned by the caller. */
    List<Tensor> take() {
        List<Tensor> taken = tensors;
        tensors = new ArrayList<>();
        return taken;
    }

    @Override
    public void close() {
        take().forEach(Tensor::release);
    }
}

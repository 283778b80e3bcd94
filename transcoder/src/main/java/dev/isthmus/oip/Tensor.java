package dev.isthmus.oip;

import io.netty.buffer.ByteBuf;
import java.util.Map;

/**
 * A named tensor with its elements in raw form: row-major, little-endian, without padding; {@link DataType#BYTES} elements
 * each behind a 4-byte little-endian length. The tensor owns one reference of {@code data}; {@link #release()} gives it
 * back. That {@code data} fits shape and datatype was checked by whoever made the tensor ({@code TensorCheck}).
 *
 * @param data readable bytes are the tensor's; its indices are not moved by readers
 */
public record Tensor(String name, DataType dataType, Shape shape, Map<String, Parameter> parameters, ByteBuf data) {

    /** The parameter of a tensor that lies in memory that client and server share. */
    public static final String SHARED_MEMORY_REGION = "shared_memory_region";

    public Tensor {
        parameters = Parameter.copyOf(parameters);
    }

    /** Whether the elements lie in shared memory: {@code data} is empty then. */
    public boolean shared() {
        return parameters.containsKey(SHARED_MEMORY_REGION);
    }

    public void release() {
        data.release();
    }

    /** The same tensor once more: its data has a reference and indices of its own, and is not copied. */
    public Tensor retained() {
        return new Tensor(name, dataType, shape, parameters, data.retainedDuplicate());
    }
}

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

    public Tensor {
        parameters = Parameter.copyOf(parameters);
    }

    public void release() {
        data.release();
    }
}

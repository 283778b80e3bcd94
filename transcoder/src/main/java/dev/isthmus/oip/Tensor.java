package dev.isthmus.oip;

import io.netty.buffer.ByteBuf;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A named tensor with its elements in raw form: row-major, little-endian, without padding; each {@link DataType#BYTES}
 * element follows its 4-byte little-endian length. The tensor owns one reference to {@code data}, which {@link
 * #release()} releases. Its creator has checked that {@code data} matches shape and datatype ({@code TensorCheck}).
 *
 * @param data its readable bytes are the elements; readers do not move its indices
 */
public record Tensor(String name, DataType dataType, Shape shape, Map<String, Parameter> parameters, ByteBuf data)
        implements TensorHead {

    /** The parameter that places a tensor in shared memory. */
    public static final String SHARED_MEMORY_REGION = "shared_memory_region";

    public Tensor {
        parameters = Parameter.copyOf(parameters);
    }

    /** Whether the elements are in shared memory; {@code data} is then empty. */
    public boolean shared() {
        return parameters.containsKey(SHARED_MEMORY_REGION);
    }

    /** The parameters to name in a response: without the place in shared memory, as in Triton's. */
    public Map<String, Parameter> responseParameters() {
        if (!shared()) {
            return parameters;
        }
        Map<String, Parameter> named = new LinkedHashMap<>(parameters);
        named.keySet().removeIf(name -> name.startsWith("shared_memory_"));
        return named;
    }

    /** The size of the elements of all these, in bytes. */
    public static long bytes(List<Tensor> tensors) {
        return tensors.stream().mapToLong(tensor -> tensor.data.readableBytes()).sum();
    }

    public void release() {
        data.release();
    }

    /** A copy that shares the memory, with its own reference and indices; must be released separately. */
    public Tensor retained() {
        return new Tensor(name, dataType, shape, parameters, data.retainedDuplicate());
    }
}

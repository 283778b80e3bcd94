package dev.isthmus.transcoder.message;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The checks for tensors of every wire. A failure names the tensor, the value and the expectation.
 *
 * @param code the code of failures: the client's or the upstream's fault
 * @param kind "input" or "output"
 */
public record TensorCheck(ErrorCode code, String kind) {

    /** For a request's inputs. */
    public static final TensorCheck INPUT = new TensorCheck(ErrorCode.INVALID_ARGUMENT, "input");

    /** For a request's requested outputs. */
    public static final TensorCheck REQUESTED = new TensorCheck(ErrorCode.INVALID_ARGUMENT, "output");

    /** For an upstream response's outputs. */
    public static final TensorCheck OUTPUT = new TensorCheck(ErrorCode.BAD_UPSTREAM_ANSWER, "output");

    private static final int LENGTH_PREFIX = 4;
    /** The maximum characters of a text in a message. */
    private static final int SHOWN = 64;

    public OipException failure(String tensor, String message) {
        return new OipException(code, where(tensor) + message);
    }

    /** The failure of a tensor that has more bytes than a message may have. */
    public OipException tooLarge(String tensor, long maxBytes) {
        return new OipException(
                code == ErrorCode.INVALID_ARGUMENT ? ErrorCode.PAYLOAD_TOO_LARGE : code,
                where(tensor) + "at most " + maxBytes + " bytes are accepted");
    }

    /** The prefix of a message about this tensor; one without a name is told by its kind alone. */
    public String where(String tensor) {
        return tensor.isEmpty() ? kind + ": " : kind + " '" + tensor + "': ";
    }

    /** The checks for a tensor whose name is not known yet, by its index. */
    public TensorCheck at(int index) {
        return new TensorCheck(code, kind + "s[" + index + "]");
    }

    /** The datatype with this name; fails if there is none. */
    public DataType dataType(String tensor, String name) {
        return DataType.byName(name)
                .orElseThrow(() -> failure(tensor, "datatype " + shown(name) + " is not defined by the protocol"));
    }

    /** A text of any length in quotes, truncated if it is long: messages are sent in a header over gRPC. */
    public static String shown(String text) {
        return "'" + (text.length() > SHOWN ? text.substring(0, SHOWN) + "\u2026" : text) + "'";
    }

    /** The number of elements of this shape; fails for invalid shapes. */
    public long elementCount(String tensor, Shape shape) {
        if (shape.rank() > Shape.MAX_RANK) {
            throw failure(tensor, "shape " + shape + " has more than " + Shape.MAX_RANK + " dimensions");
        }
        for (int i = 0; i < shape.rank(); i++) {
            if (shape.extent(i) < 0) {
                throw failure(tensor, "shape " + shape + " has a negative dimension");
            }
        }
        try {
            return shape.elementCount();
        } catch (ArithmeticException e) {
            throw new OipException(
                    code, where(tensor) + "shape " + shape + " has more elements than can be counted", e);
        }
    }

    /** The size of a tensor of a fixed-size datatype, in bytes. */
    public long byteSize(String tensor, DataType type, Shape shape) {
        try {
            return Math.multiplyExact(elementCount(tensor, shape), type.size());
        } catch (ArithmeticException e) {
            throw new OipException(code, where(tensor) + "shape " + shape + " has more bytes than can be counted", e);
        }
    }

    /** Requires that raw data has the size, and for BYTES the element lengths, that datatype and shape require. */
    public void requireRaw(String tensor, DataType type, Shape shape, ByteBuf data) {
        if (type == DataType.BYTES) {
            requireElements(tensor, shape, data);
            return;
        }
        requireSize(tensor, type, shape, data.readableBytes());
    }

    /** Requires that the size matches the datatype, which is not BYTES, and the shape. */
    public void requireSize(String tensor, DataType type, Shape shape, long bytes) {
        long expected = byteSize(tensor, type, shape);
        if (bytes != expected) {
            throw failure(
                    tensor,
                    "shape " + shape + " of " + type + " needs " + expected + " bytes, got "
                            + Long.toUnsignedString(bytes));
        }
    }

    private void requireElements(String tensor, Shape shape, ByteBuf data) {
        long expected = elementCount(tensor, shape);
        long count = 0;
        int at = data.readerIndex();
        int end = data.writerIndex();
        while (at < end) {
            if (end - at < LENGTH_PREFIX) {
                throw failure(tensor, "BYTES element " + count + " ends within its length");
            }
            long length = data.getUnsignedIntLE(at);
            at += LENGTH_PREFIX;
            if (length > end - at) {
                throw failure(
                        tensor,
                        "BYTES element " + count + " has a length of " + length + " bytes, but " + (end - at)
                                + " are left");
            }
            at += (int) length;
            count++;
        }
        if (count != expected) {
            throw failure(tensor, "shape " + shape + " of BYTES needs " + expected + " elements, got " + count);
        }
    }

    /** Requires that a tensor with these parameters is not in shared memory, unless that is enabled. */
    public void requireMemory(String tensor, Map<String, Parameter> parameters, WireLimits limits) {
        if (!limits.sharedMemory() && parameters.containsKey(Tensor.SHARED_MEMORY_REGION)) {
            throw failure(tensor, "shared memory is not enabled");
        }
    }

    /** Requires that a name is within the length limit. */
    public void requireName(String name, WireLimits limits) {
        if (name.length() > limits.nameBytes()
                || (name.length() > limits.nameBytes() / 3 && ByteBufUtil.utf8Bytes(name) > limits.nameBytes())) {
            throw new OipException(code, kind + ": a name has more than " + limits.nameBytes() + " bytes");
        }
    }

    /** Requires that names are distinct. */
    public <T> void requireDistinct(List<T> named, Function<T, String> name) {
        if (named.size() < 2) {
            return;
        }
        Set<String> seen = new HashSet<>();
        for (T each : named) {
            if (!seen.add(name.apply(each))) {
                throw new OipException(code, kind + " '" + name.apply(each) + "' is given twice");
            }
        }
    }
}

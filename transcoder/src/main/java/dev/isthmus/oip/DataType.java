package dev.isthmus.oip;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A tensor datatype of the protocol, with the size of one element in its raw (little-endian) form. */
public enum DataType {
    BOOL(1),
    UINT8(1),
    UINT16(2),
    UINT32(4),
    UINT64(8),
    INT8(1),
    INT16(2),
    INT32(4),
    INT64(8),
    FP16(2),
    BF16(2),
    FP32(4),
    FP64(8),
    /** Elements of any length, each preceded by its length as a 4-byte little-endian unsigned integer. */
    BYTES(0);

    private static final Map<String, DataType> BY_NAME = new HashMap<>();

    static {
        for (DataType type : values()) {
            BY_NAME.put(type.name(), type);
        }
    }

    private final int size;

    DataType(int size) {
        this.size = size;
    }

    /** Bytes of one element; 0 for {@link #BYTES}, whose elements have no fixed size. */
    public int size() {
        return size;
    }

    /** Whether every element has the same size. */
    public boolean fixedSize() {
        return size > 0;
    }

    /** The datatype with this name; names are case-sensitive (protocol document "Required API", Tensor Data Types). */
    public static Optional<DataType> byName(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }
}

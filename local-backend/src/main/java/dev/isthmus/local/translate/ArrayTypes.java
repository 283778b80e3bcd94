package dev.isthmus.local.translate;

import ai.djl.ndarray.types.Shape;
import dev.isthmus.oip.DataType;
import java.util.Optional;

/** Maps DJL's datatypes and shapes to the protocol's and back. */
final class ArrayTypes {
    private ArrayTypes() {}

    static ai.djl.ndarray.types.DataType djl(DataType type) {
        return switch (type) {
            case BOOL -> ai.djl.ndarray.types.DataType.BOOLEAN;
            case UINT8 -> ai.djl.ndarray.types.DataType.UINT8;
            case UINT16 -> ai.djl.ndarray.types.DataType.UINT16;
            case UINT32 -> ai.djl.ndarray.types.DataType.UINT32;
            case UINT64 -> ai.djl.ndarray.types.DataType.UINT64;
            case INT8 -> ai.djl.ndarray.types.DataType.INT8;
            case INT16 -> ai.djl.ndarray.types.DataType.INT16;
            case INT32 -> ai.djl.ndarray.types.DataType.INT32;
            case INT64 -> ai.djl.ndarray.types.DataType.INT64;
            case FP16 -> ai.djl.ndarray.types.DataType.FLOAT16;
            case BF16 -> ai.djl.ndarray.types.DataType.BFLOAT16;
            case FP32 -> ai.djl.ndarray.types.DataType.FLOAT32;
            case FP64 -> ai.djl.ndarray.types.DataType.FLOAT64;
            case BYTES -> ai.djl.ndarray.types.DataType.STRING;
        };
    }

    /** The protocol's datatype; empty if there is none. */
    static Optional<DataType> oip(ai.djl.ndarray.types.DataType type) {
        for (DataType candidate : DataType.values()) {
            if (djl(candidate) == type) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }

    static Shape djl(dev.isthmus.oip.Shape shape) {
        return new Shape(shape.toArray());
    }

    static dev.isthmus.oip.Shape oip(Shape shape) {
        return dev.isthmus.oip.Shape.of(shape.getShape());
    }
}

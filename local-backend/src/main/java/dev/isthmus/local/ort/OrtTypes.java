package dev.isthmus.local.ort;

import ai.onnxruntime.TensorInfo;
import dev.isthmus.oip.DataType;
import org.jspecify.annotations.Nullable;

/**
 * Maps ONNX Runtime's element types to the protocol's. The API's Java type is not used: it is signed for unsigned
 * types.
 */
final class OrtTypes {
    private OrtTypes() {}

    /** The protocol's type; null if there is none, as for complex numbers. */
    static @Nullable DataType type(TensorInfo info) {
        return switch (info.onnxType) {
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 -> DataType.UINT8;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 -> DataType.INT8;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 -> DataType.UINT16;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 -> DataType.INT16;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 -> DataType.UINT32;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 -> DataType.INT32;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 -> DataType.UINT64;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 -> DataType.INT64;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT -> DataType.FP32;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE -> DataType.FP64;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 -> DataType.FP16;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 -> DataType.BF16;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL -> DataType.BOOL;
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING -> DataType.BYTES;
            default -> null;
        };
    }

    /** The number of a type in ONNX's files and in the C API; the Java API has other numbers. */
    static int number(DataType type) {
        return switch (type) {
            case FP32 -> 1;
            case UINT8 -> 2;
            case INT8 -> 3;
            case UINT16 -> 4;
            case INT16 -> 5;
            case INT32 -> 6;
            case INT64 -> 7;
            case BYTES -> 8;
            case BOOL -> 9;
            case FP16 -> 10;
            case FP64 -> 11;
            case UINT32 -> 12;
            case UINT64 -> 13;
            case BF16 -> 16;
        };
    }
}

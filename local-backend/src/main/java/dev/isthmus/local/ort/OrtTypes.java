package dev.isthmus.local.ort;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.TensorInfo;
import dev.isthmus.oip.DataType;
import java.util.Optional;

/** ONNX Runtime's element types and the protocol's, as far as its Java API carries them byte for byte. */
final class OrtTypes {
    private OrtTypes() {}

    /** The protocol's name for a type, also for those that cannot be run here. */
    static String name(TensorInfo info) {
        return switch (info.onnxType) {
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 -> "UINT8";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 -> "INT8";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 -> "UINT16";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 -> "INT16";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 -> "UINT32";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 -> "INT32";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 -> "UINT64";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 -> "INT64";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT -> "FP32";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE -> "FP64";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 -> "FP16";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 -> "BF16";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL -> "BOOL";
            case ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING -> "BYTES";
            default -> info.onnxType.toString();
        };
    }

    /**
     * The type where the public Java API carries it exactly. It does not for UINT16, UINT32 and UINT64, which it takes for
     * their signed sisters, nor for strings, which go through modified UTF-8.
     */
    static Optional<DataType> exact(TensorInfo info) {
        return DataType.byName(name(info)).filter(type -> switch (type) {
            case UINT16, UINT32, UINT64, BYTES -> false;
            default -> true;
        });
    }

    /** For types that {@link #exact} gives. */
    static OnnxJavaType java(DataType type) {
        return switch (type) {
            case BOOL -> OnnxJavaType.BOOL;
            case UINT8 -> OnnxJavaType.UINT8;
            case INT8 -> OnnxJavaType.INT8;
            case INT16 -> OnnxJavaType.INT16;
            case INT32 -> OnnxJavaType.INT32;
            case INT64 -> OnnxJavaType.INT64;
            case FP16 -> OnnxJavaType.FLOAT16;
            case BF16 -> OnnxJavaType.BFLOAT16;
            case FP32 -> OnnxJavaType.FLOAT;
            case FP64 -> OnnxJavaType.DOUBLE;
            case UINT16, UINT32, UINT64, BYTES -> throw new IllegalArgumentException(type.toString());
        };
    }
}

package dev.isthmus.local.ort;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.UnsafeByteOperations;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.OperatorSetIdProto;
import dev.isthmus.proto.onnx.TensorShapeProto;
import dev.isthmus.proto.onnx.TypeProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.io.IOException;
import java.util.Collection;
import java.util.List;

/** Reads ONNX's file format and makes parts of it. */
final class OnnxProto {
    /** The domain of classical machine learning. */
    static final String ML = "ai.onnx.ml";

    private OnnxProto() {}

    /**
     * Parses a model, whose weights are not copied.
     *
     * @throws OipException FAILED_PRECONDITION if it is not one
     */
    static ModelProto parse(byte[] onnx) {
        try {
            CodedInputStream in = UnsafeByteOperations.unsafeWrap(onnx).newCodedInput();
            in.enableAliasing(true);
            return ModelProto.parseFrom(in);
        } catch (IOException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "it is not an ONNX model", e);
        }
    }

    /** Whether a domain is that of ONNX's own operators. */
    static boolean own(String domain) {
        return domain.isEmpty() || domain.equals("ai.onnx");
    }

    /** The declared version of ONNX's own operators; 0 if it is not declared. */
    static long version(Collection<OperatorSetIdProto> opsets) {
        return opsets.stream()
                .filter(opset -> own(opset.getDomain()))
                .mapToLong(OperatorSetIdProto::getVersion)
                .max()
                .orElse(0);
    }

    /** A node of ONNX's own operators. */
    static NodeProto node(String type, String output, String... inputs) {
        return NodeProto.newBuilder()
                .setOpType(type)
                .addAllInput(List.of(inputs))
                .addOutput(output)
                .build();
    }

    /**
     * A tensor's name, type and shape.
     *
     * @param extents the dimensions; -1 for a variable one
     */
    static ValueInfoProto value(String name, DataType type, long... extents) {
        TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
        for (long extent : extents) {
            TensorShapeProto.Dimension.Builder dimension = shape.addDimBuilder();
            if (extent >= 0) {
                dimension.setDimValue(extent);
            }
        }
        TypeProto.Tensor tensor = TypeProto.Tensor.newBuilder()
                .setElemType(OrtTypes.number(type))
                .setShape(shape)
                .build();
        return ValueInfoProto.newBuilder()
                .setName(name)
                .setType(TypeProto.newBuilder().setTensorType(tensor))
                .build();
    }

    /** The version of ONNX's own operators. */
    static OperatorSetIdProto opset(long version) {
        return OperatorSetIdProto.newBuilder().setVersion(version).build();
    }
}

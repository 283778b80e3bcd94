package dev.isthmus.local.ort;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import dev.isthmus.oip.DataType;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The subset of ONNX's file format (onnx.proto) that is read and written here. */
final class OnnxProto {
    static final int MODEL_IR_VERSION = 1;
    static final int MODEL_GRAPH = 7;
    static final int MODEL_OPSET = 8;
    static final int OPSET_DOMAIN = 1;
    static final int OPSET_VERSION = 2;
    static final int GRAPH_NODE = 1;
    static final int GRAPH_NAME = 2;
    static final int GRAPH_INPUT = 11;
    static final int GRAPH_OUTPUT = 12;
    static final int GRAPH_VALUE = 13;
    static final int NODE_INPUT = 1;
    static final int NODE_OUTPUT = 2;
    static final int NODE_TYPE = 4;
    static final int NODE_ATTRIBUTE = 5;
    static final int ATTRIBUTE_NAME = 1;
    static final int ATTRIBUTE_INTS = 8;
    static final int ATTRIBUTE_STRINGS = 9;
    static final int VALUE_NAME = 1;
    static final int VALUE_TYPE = 2;
    static final int TYPE_TENSOR = 1;
    static final int TENSOR_SHAPE = 2;

    private static final int TENSOR_ELEMENT = 1;
    private static final int SHAPE_DIMENSION = 1;
    private static final int DIMENSION_VALUE = 1;

    /** Writes the fields of a message. */
    @FunctionalInterface
    interface Fields {
        void writeTo(CodedOutputStream out) throws IOException;
    }

    private OnnxProto() {}

    static ByteString message(Fields fields) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            fields.writeTo(out);
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ByteString.copyFrom(bytes.toByteArray());
    }

    /** A NodeProto that returns its input. */
    static ByteString identity(String input, String output) {
        return message(node -> {
            node.writeString(NODE_INPUT, input);
            node.writeString(NODE_OUTPUT, output);
            node.writeString(NODE_TYPE, "Identity");
        });
    }

    /**
     * The ValueInfoProto of a tensor.
     *
     * @param extents the dimensions; -1 for a variable one
     */
    static ByteString value(String name, DataType type, long... extents) {
        ByteString shape = message(out -> {
            for (long extent : extents) {
                out.writeBytes(SHAPE_DIMENSION, dimension(extent));
            }
        });
        ByteString tensor = message(out -> {
            out.writeInt32(TENSOR_ELEMENT, OrtTypes.number(type));
            out.writeBytes(TENSOR_SHAPE, shape);
        });
        ByteString described = message(out -> out.writeBytes(TYPE_TENSOR, tensor));
        return message(out -> {
            out.writeString(VALUE_NAME, name);
            out.writeBytes(VALUE_TYPE, described);
        });
    }

    private static ByteString dimension(long extent) {
        return extent < 0 ? ByteString.EMPTY : message(out -> out.writeInt64(DIMENSION_VALUE, extent));
    }

    /** The OperatorSetIdProto of ONNX's own operators. */
    static ByteString opset(long version) {
        return message(out -> out.writeInt64(OPSET_VERSION, version));
    }
}

package dev.isthmus.local.ort;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/**
 * Finds the inputs and outputs of a model that have no shape. ONNX distinguishes them from scalars, whose shape has no
 * dimensions; ONNX Runtime's API does not.
 */
final class UnshapedTensors {
    private UnshapedTensors() {}

    /** The names of a model's inputs and outputs without a shape. */
    static Set<String> of(byte[] onnx) {
        Set<String> names = new HashSet<>();
        try {
            CodedInputStream in = CodedInputStream.newInstance(onnx);
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (WireFormat.getTagFieldNumber(tag) == OnnxProto.MODEL_GRAPH) {
                    int outer = in.pushLimit(in.readRawVarint32());
                    graph(in, names);
                    in.popLimit(outer);
                } else {
                    in.skipField(tag);
                }
            }
        } catch (IOException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "it is not an ONNX model", e);
        }
        return Set.copyOf(names);
    }

    private static void graph(CodedInputStream in, Set<String> names) throws IOException {
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            int field = WireFormat.getTagFieldNumber(tag);
            if (field == OnnxProto.GRAPH_INPUT || field == OnnxProto.GRAPH_OUTPUT) {
                int outer = in.pushLimit(in.readRawVarint32());
                value(in, names);
                in.popLimit(outer);
            } else {
                in.skipField(tag);
            }
        }
    }

    private static void value(CodedInputStream in, Set<String> names) throws IOException {
        String name = "";
        boolean shaped = false;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            switch (WireFormat.getTagFieldNumber(tag)) {
                case OnnxProto.VALUE_NAME -> name = in.readString();
                case OnnxProto.VALUE_TYPE -> shaped |= contains(in, OnnxProto.TYPE_TENSOR, OnnxProto.TENSOR_SHAPE);
                default -> in.skipField(tag);
            }
        }
        if (!shaped) {
            names.add(name);
        }
    }

    /** Whether the message that follows has this field, and that one the other. */
    private static boolean contains(CodedInputStream in, int field, int inner) throws IOException {
        boolean found = false;
        int outer = in.pushLimit(in.readRawVarint32());
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            boolean here = WireFormat.getTagFieldNumber(tag) == field;
            if (here && inner != 0) {
                found |= contains(in, inner, 0);
            } else {
                found |= here;
                in.skipField(tag);
            }
        }
        in.popLimit(outer);
        return found;
    }
}

package dev.isthmus.local.ort;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.UnsafeByteOperations;
import com.google.protobuf.WireFormat;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Converts outputs that are sequences of maps to tensors. scikit-learn classifiers end in a ZipMap node, which converts
 * each row of an FP32 tensor [n,k] to a map from label to score. The protocol has no maps, and the maps of the Java API
 * are unordered, cost a hash table per row and leak unless each is closed. Therefore the node is replaced by an
 * identity node: the tensor's columns are in the order of the node's labels, which are added to the output's metadata.
 */
final class ZipMaps {
    private static final long OPSET = 9;

    private final byte[] onnx;
    private final Map<String, String> labels;

    /** A ZipMap node. */
    private record Node(String input, String output, List<String> labels) {}

    /**
     * A field of a message.
     *
     * @param content the value of a length-delimited field, else empty
     */
    private record Field(int number, ByteString whole, ByteString content) {}

    private ZipMaps(byte[] onnx, Map<String, String> labels) {
        this.onnx = onnx;
        this.labels = labels;
    }

    /** The rewritten model; the given one if it has no such node. */
    byte[] onnx() {
        return onnx;
    }

    /** The labels of outputs that were maps, each as a JSON array, by output name. */
    Map<String, String> labels() {
        return labels;
    }

    /** Replaces the ZipMap nodes of a model. */
    static ZipMaps of(byte[] onnx) {
        try {
            Map<String, Node> found = new HashMap<>();
            boolean ownOperators = scan(onnx, found);
            if (found.isEmpty()) {
                return new ZipMaps(onnx, Map.of());
            }
            return new ZipMaps(rewrite(onnx, found, ownOperators), labels(found));
        } catch (IOException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "it is not an ONNX model", e);
        }
    }

    private static Map<String, String> labels(Map<String, Node> found) {
        return found.values().stream()
                .collect(Collectors.toUnmodifiableMap(
                        Node::output, node -> node.labels.stream().collect(Collectors.joining(",", "[", "]"))));
    }

    /**
     * Collects the nodes by the name of their output; returns whether the model declares the version of ONNX's own
     * operators.
     */
    private static boolean scan(byte[] onnx, Map<String, Node> found) throws IOException {
        boolean ownOperators = false;
        CodedInputStream in = CodedInputStream.newInstance(onnx);
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            switch (WireFormat.getTagFieldNumber(tag)) {
                case OnnxProto.MODEL_GRAPH -> {
                    int outer = in.pushLimit(in.readRawVarint32());
                    scanGraph(in, found);
                    in.popLimit(outer);
                }
                case OnnxProto.MODEL_OPSET -> ownOperators |= ownOperators(in.readBytes());
                default -> in.skipField(tag);
            }
        }
        return ownOperators;
    }

    private static void scanGraph(CodedInputStream in, Map<String, Node> found) throws IOException {
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (WireFormat.getTagFieldNumber(tag) == OnnxProto.GRAPH_NODE) {
                int outer = in.pushLimit(in.readRawVarint32());
                Node node = node(in);
                if (node != null) {
                    found.put(node.output, node);
                }
                in.popLimit(outer);
            } else {
                in.skipField(tag);
            }
        }
    }

    private static @Nullable Node node(CodedInputStream in) throws IOException {
        String input = "";
        String output = "";
        String type = "";
        List<String> labels = new ArrayList<>();
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            switch (WireFormat.getTagFieldNumber(tag)) {
                case OnnxProto.NODE_INPUT -> input = in.readString();
                case OnnxProto.NODE_OUTPUT -> output = in.readString();
                case OnnxProto.NODE_TYPE -> type = in.readString();
                case OnnxProto.NODE_ATTRIBUTE -> {
                    int outer = in.pushLimit(in.readRawVarint32());
                    attribute(in, labels);
                    in.popLimit(outer);
                }
                default -> in.skipField(tag);
            }
        }
        return type.equals("ZipMap") ? new Node(input, output, labels) : null;
    }

    private static void attribute(CodedInputStream in, List<String> labels) throws IOException {
        boolean named = false;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            int field = WireFormat.getTagFieldNumber(tag);
            if (field == OnnxProto.ATTRIBUTE_NAME) {
                named = in.readString().startsWith("classlabels_");
            } else if (named && field == OnnxProto.ATTRIBUTE_STRINGS) {
                labels.add(quoted(in.readString()));
            } else if (named && field == OnnxProto.ATTRIBUTE_INTS) {
                ints(in, tag, labels);
            } else {
                in.skipField(tag);
            }
        }
    }

    private static void ints(CodedInputStream in, int tag, List<String> labels) throws IOException {
        if (WireFormat.getTagWireType(tag) != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
            labels.add(Long.toString(in.readInt64()));
            return;
        }
        int outer = in.pushLimit(in.readRawVarint32());
        while (!in.isAtEnd()) {
            labels.add(Long.toString(in.readInt64()));
        }
        in.popLimit(outer);
    }

    private static String quoted(String label) {
        StringBuilder json = new StringBuilder("\"");
        label.chars().forEach(c -> {
            if (c == '"' || c == '\\') {
                json.append('\\').append((char) c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", c));
            } else {
                json.append((char) c);
            }
        });
        return json.append('"').toString();
    }

    private static boolean ownOperators(ByteString opset) throws IOException {
        CodedInputStream in = opset.newCodedInput();
        String domain = "";
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (WireFormat.getTagFieldNumber(tag) == OnnxProto.OPSET_DOMAIN) {
                domain = in.readString();
            } else {
                in.skipField(tag);
            }
        }
        return domain.isEmpty() || domain.equals("ai.onnx");
    }

    private static byte[] rewrite(byte[] onnx, Map<String, Node> found, boolean ownOperators) throws IOException {
        ByteString model = UnsafeByteOperations.unsafeWrap(onnx);
        ByteString.Output bytes = ByteString.newOutput(onnx.length);
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        for (Field field : fields(model)) {
            if (field.number == OnnxProto.MODEL_GRAPH) {
                out.writeBytes(field.number, graph(field.content, found));
            } else {
                out.writeRawBytes(field.whole);
            }
        }
        if (!ownOperators) {
            out.writeBytes(OnnxProto.MODEL_OPSET, OnnxProto.opset(OPSET));
        }
        out.flush();
        return bytes.toByteString().toByteArray();
    }

    private static ByteString graph(ByteString graph, Map<String, Node> found) throws IOException {
        ByteString.Output bytes = ByteString.newOutput(graph.size());
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        for (Field field : fields(graph)) {
            Node node = switch (field.number) {
                case OnnxProto.GRAPH_NODE -> node(field.content.newCodedInput());
                case OnnxProto.GRAPH_OUTPUT, OnnxProto.GRAPH_VALUE -> found.get(name(field.content));
                default -> null;
            };
            if (node == null) {
                out.writeRawBytes(field.whole);
            } else if (field.number == OnnxProto.GRAPH_NODE) {
                out.writeBytes(field.number, OnnxProto.identity(node.input, node.output));
            } else {
                out.writeBytes(field.number, OnnxProto.value(node.output, DataType.FP32, -1, node.labels.size()));
            }
        }
        out.flush();
        return bytes.toByteString();
    }

    /** The fields of a message, which are not copied. */
    private static List<Field> fields(ByteString message) throws IOException {
        List<Field> fields = new ArrayList<>();
        CodedInputStream in = message.newCodedInput();
        in.enableAliasing(true);
        int start = 0;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            boolean bytes = WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
            ByteString content = bytes ? in.readBytes() : ByteString.EMPTY;
            if (!bytes) {
                in.skipField(tag);
            }
            int end = in.getTotalBytesRead();
            fields.add(new Field(WireFormat.getTagFieldNumber(tag), message.substring(start, end), content));
            start = end;
        }
        return fields;
    }

    private static String name(ByteString value) throws IOException {
        CodedInputStream in = value.newCodedInput();
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (WireFormat.getTagFieldNumber(tag) == OnnxProto.VALUE_NAME) {
                return in.readString();
            }
            in.skipField(tag);
        }
        return "";
    }
}

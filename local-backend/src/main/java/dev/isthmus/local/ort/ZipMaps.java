package dev.isthmus.local.ort;

import ai.onnxruntime.OrtException;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.proto.onnx.AttributeProto;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Converts outputs that are sequences of maps to tensors. scikit-learn classifiers end in a ZipMap node, which converts
 * each row of an FP32 tensor [n,k] to a map from label to score. The protocol has no maps, and the maps of the Java API
 * are unordered, cost a hash table per row and leak unless each is closed. Therefore the node is replaced by an
 * identity node: the tensor's columns are in the order of the node's labels, which are added to the output's metadata.
 *
 * @param model the rewritten model; the given one if it has no such node
 * @param labels the labels of outputs that were maps, each as a JSON array, by output name
 */
record ZipMaps(ModelProto model, Map<String, String> labels) {
    private static final long OPSET = 9;
    private static final String LABELS = "classlabels_";

    /** Opens a model, which ONNX Runtime may refuse. */
    @FunctionalInterface
    interface Opening {
        void open(byte[] onnx) throws OrtException;
    }

    /**
     * Replaces the ZipMap nodes of a model that make its outputs.
     *
     * @param opening is given a model of each of these nodes alone, so that one that is invalid is refused
     */
    static ZipMaps of(ModelProto model, Opening opening) throws OrtException {
        boolean redefined = model.getFunctionsList().stream()
                .anyMatch(function -> isZipMap(function.getName(), function.getDomain()));
        GraphProto graph = model.getGraph();
        Map<String, List<String>> found = new HashMap<>();
        for (NodeProto node : graph.getNodeList()) {
            if (!redefined && isZipMap(node.getOpType(), node.getDomain()) && ends(node, graph)) {
                opening.open(alone(node, model).toByteArray());
                found.put(node.getOutput(0), labels(node));
            }
        }
        if (found.isEmpty()) {
            return new ZipMaps(model, Map.of());
        }
        ModelProto.Builder rewritten = model.toBuilder().setGraph(rewrite(graph, found));
        if (OnnxProto.version(model.getOpsetImportList()) == 0) {
            rewritten.addOpsetImport(OnnxProto.opset(OPSET));
        }
        return new ZipMaps(
                rewritten.build(),
                found.entrySet().stream()
                        .collect(Collectors.toUnmodifiableMap(
                                Map.Entry::getKey, each -> "[" + String.join(",", each.getValue()) + "]")));
    }

    private static boolean isZipMap(String type, String domain) {
        return type.equals("ZipMap") && domain.equals(OnnxProto.ML);
    }

    /** Whether the node's only output is one of the model's, and no other node takes it. */
    private static boolean ends(NodeProto node, GraphProto graph) {
        return node.getInputCount() == 1
                && node.getOutputCount() == 1
                && graph.getOutputList().stream()
                        .anyMatch(value -> value.getName().equals(node.getOutput(0)))
                && graph.getNodeList().stream()
                        .noneMatch(other -> other.getInputList().contains(node.getOutput(0)));
    }

    private static ModelProto alone(NodeProto node, ModelProto model) {
        ModelProto.Builder alone = ModelProto.newBuilder().addAllOpsetImport(model.getOpsetImportList());
        if (model.hasIrVersion()) {
            alone.setIrVersion(model.getIrVersion());
        }
        return alone.setGraph(GraphProto.newBuilder()
                        .setName("ZipMap")
                        .addNode(node)
                        .addInput(OnnxProto.value(node.getInput(0), DataType.FP32, -1, -1))
                        .addOutput(ValueInfoProto.newBuilder().setName(node.getOutput(0))))
                .build();
    }

    private static List<String> labels(NodeProto node) {
        return node.getAttributeList().stream()
                .filter(attribute -> attribute.getName().startsWith(LABELS))
                .flatMap(attribute -> labels(attribute))
                .toList();
    }

    private static Stream<String> labels(AttributeProto attribute) {
        return Stream.concat(
                attribute.getStringsList().stream()
                        .map(ByteString::toStringUtf8)
                        .map(ZipMaps::quoted),
                attribute.getIntsList().stream().map(String::valueOf));
    }

    private static String quoted(String label) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(label)) + '"';
    }

    private static GraphProto rewrite(GraphProto graph, Map<String, List<String>> found) {
        GraphProto.Builder rewritten = graph.toBuilder();
        for (int i = 0; i < graph.getNodeCount(); i++) {
            NodeProto node = graph.getNode(i);
            if (node.getOutputCount() == 1 && found.containsKey(node.getOutput(0))) {
                rewritten.setNode(i, OnnxProto.node("Identity", node.getOutput(0), node.getInput(0)));
            }
        }
        for (int i = 0; i < graph.getOutputCount(); i++) {
            rewritten.setOutput(i, described(graph.getOutput(i), found));
        }
        for (int i = 0; i < graph.getValueInfoCount(); i++) {
            rewritten.setValueInfo(i, described(graph.getValueInfo(i), found));
        }
        return rewritten.build();
    }

    private static ValueInfoProto described(ValueInfoProto value, Map<String, List<String>> found) {
        List<String> labels = found.get(value.getName());
        return labels == null ? value : OnnxProto.value(value.getName(), DataType.FP32, -1, labels.size());
    }
}

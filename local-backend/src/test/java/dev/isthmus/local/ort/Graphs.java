package dev.isthmus.local.ort;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.proto.onnx.AttributeProto;
import dev.isthmus.proto.onnx.FunctionProto;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.OperatorSetIdProto;
import dev.isthmus.proto.onnx.TensorProto;
import dev.isthmus.proto.onnx.TensorShapeProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.util.List;

/** Models that tests write. */
final class Graphs {
    private static final int INT = 2;
    private static final int TENSOR = 4;
    private static final int GRAPH = 5;

    private Graphs() {}

    static GraphProto graph(List<NodeProto> nodes, List<ValueInfoProto> inputs, ValueInfoProto output) {
        return GraphProto.newBuilder()
                .setName("g")
                .addAllNode(nodes)
                .addAllInput(inputs)
                .addOutput(output)
                .build();
    }

    static ModelProto model(GraphProto graph, FunctionProto... functions) {
        return ModelProto.newBuilder()
                .setIrVersion(8)
                .addOpsetImport(OnnxProto.opset(17))
                .addOpsetImport(opset("my", 1))
                .addOpsetImport(opset(OnnxProto.ML, 3))
                .addAllFunctions(List.of(functions))
                .setGraph(graph)
                .build();
    }

    static OperatorSetIdProto opset(String domain, long version) {
        return OnnxProto.opset(version).toBuilder().setDomain(domain).build();
    }

    /** A function of the domain "my" with the inputs a and b and the output y. */
    static FunctionProto function(String name, List<String> inputs, NodeProto... nodes) {
        FunctionProto.Builder function = FunctionProto.newBuilder()
                .setName(name)
                .setDomain("my")
                .addAllNode(List.of(nodes))
                .addOpsetImport(OnnxProto.opset(17));
        // The names of inputs and outputs are not among the fields that are looked at.
        var names = UnknownFieldSet.newBuilder();
        var given = UnknownFieldSet.Field.newBuilder();
        inputs.forEach(input -> given.addLengthDelimited(ByteString.copyFromUtf8(input)));
        names.addField(4, given.build());
        names.addField(
                5,
                UnknownFieldSet.Field.newBuilder()
                        .addLengthDelimited(ByteString.copyFromUtf8("y"))
                        .build());
        return function.setUnknownFields(names.build()).build();
    }

    static NodeProto with(NodeProto node, AttributeProto.Builder attribute) {
        return node.toBuilder().addAttribute(attribute).build();
    }

    static NodeProto of(NodeProto node, String domain) {
        return node.toBuilder().setDomain(domain).build();
    }

    static AttributeProto.Builder number(String name, long value) {
        return AttributeProto.newBuilder().setName(name).setType(INT).setI(value);
    }

    static AttributeProto.Builder tensor(String name, TensorProto value) {
        return AttributeProto.newBuilder().setName(name).setType(TENSOR).setT(value);
    }

    static AttributeProto.Builder body(String name, GraphProto value) {
        return AttributeProto.newBuilder().setName(name).setType(GRAPH).setG(value);
    }

    /** Floats whose dimensions have these names. */
    static ValueInfoProto floats(String name, String... dimensions) {
        TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
        for (String dimension : dimensions) {
            // The name is not among the fields that are looked at.
            var field = UnknownFieldSet.Field.newBuilder().addLengthDelimited(ByteString.copyFromUtf8(dimension));
            shape.addDimBuilder()
                    .setUnknownFields(UnknownFieldSet.newBuilder()
                            .addField(2, field.build())
                            .build());
        }
        ValueInfoProto.Builder value = OnnxProto.value(name, DataType.FP32).toBuilder();
        value.getTypeBuilder().getTensorTypeBuilder().setShape(shape);
        return value.build();
    }

    /** A scalar. */
    static TensorProto scalar(String name, long value) {
        return TensorProto.newBuilder()
                .setName(name)
                .setDataType(OrtTypes.number(DataType.INT64))
                .addInt64Data(value)
                .build();
    }

    static OnnxModel load(ModelProto model) {
        byte[] onnx = model.toByteArray();
        return OnnxModel.load(new ModelSource("m", "1", ModelSettings.DEFAULT, () -> onnx, List.of()), "cpu");
    }
}

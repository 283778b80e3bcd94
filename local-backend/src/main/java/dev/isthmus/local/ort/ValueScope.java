package dev.isthmus.local.ort;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.proto.onnx.AttributeProto;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.TensorProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a graph's file says of the element types and constants that its nodes take. */
final class ValueScope {
    /** An element type that is not known. */
    static final int UNKNOWN = 0;

    static final int INT32 = OrtTypes.number(DataType.INT32);
    static final int INT64 = OrtTypes.number(DataType.INT64);
    private static final int FLOAT = OrtTypes.number(DataType.FP32);

    /** Operators whose first output has the type of their first input. */
    private static final Set<String> SAME = Set.of(
            ("Abs Add Attention AveragePool BatchNormalization Ceil Clip Compress Concat Conv ConvTranspose Cos CumSum Div"
                            + " Dropout Einsum Elu Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm"
                            + " GlobalAveragePool GlobalMaxPool GroupNormalization HardSigmoid HardSwish Identity"
                            + " InstanceNormalization LSTM LayerNormalization LeakyRelu Log LogSoftmax LpNormalization MatMul"
                            + " Max MaxPool Mean Min Mod Mul Neg Pad Pow Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum"
                            + " ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu"
                            + " Reshape Resize Round ScatterElements ScatterND Sigmoid Sign Sin Slice Softmax Softplus Split"
                            + " Sqrt Squeeze Sub Sum Tanh Tile TopK Transpose Trilu Unsqueeze")
                    .split(" "));

    private static final Set<String> INDICES = Set.of("ArgMax", "ArgMin", "NonZero", "Shape", "Size");

    private final @Nullable ValueScope outer;
    private final Map<String, Integer> types = new HashMap<>();
    private final Map<String, TensorProto> constants = new HashMap<>();

    /** @param outer the scope of the graph whose node has this one; null for a model's or a function's */
    ValueScope(@Nullable ValueScope outer) {
        this.outer = outer;
    }

    /** Adds what a graph declares. */
    ValueScope declare(GraphProto graph) {
        for (List<ValueInfoProto> values :
                List.of(graph.getInputList(), graph.getOutputList(), graph.getValueInfoList())) {
            values.forEach(value ->
                    types.put(value.getName(), value.getType().getTensorType().getElemType()));
        }
        graph.getInitializerList().forEach(tensor -> constant(tensor.getName(), tensor));
        return this;
    }

    private void constant(String name, TensorProto tensor) {
        types.put(name, tensor.getDataType());
        constants.put(name, tensor);
    }

    /** Adds the outputs of a node; the nodes before it have been added. */
    void add(NodeProto node) {
        boolean own = OnnxProto.own(node.getDomain());
        for (String output : node.getOutputList()) {
            boolean first = output.equals(node.getOutput(0)) || node.getOpType().equals("Split");
            types.merge(output, own && first ? type(node) : UNKNOWN, (known, same) -> known == UNKNOWN ? same : known);
        }
        if (own && node.getOpType().equals("Constant") && node.getOutputCount() > 0) {
            attribute(node, "value", value -> value).ifPresent(value -> constant(node.getOutput(0), value.getT()));
        }
    }

    private int type(NodeProto node) {
        String operator = node.getOpType();
        if (SAME.contains(operator)) {
            return input(node, 0);
        }
        if (INDICES.contains(operator)) {
            return INT64;
        }
        return switch (operator) {
            case "Cast" -> attribute(node, "to", value -> (int) value.getI()).orElse(UNKNOWN);
            case "ConstantOfShape" ->
                attribute(node, "value", value -> value.getT().getDataType()).orElse(FLOAT);
            case "CastLike", "DequantizeLinear", "Where" -> input(node, 1);
            case "OneHot" -> input(node, 2);
            case "ConvInteger", "MatMulInteger" -> INT32;
            default -> UNKNOWN;
        };
    }

    private int input(NodeProto node, int at) {
        return at < node.getInputCount() ? type(node.getInput(at)) : UNKNOWN;
    }

    /** What is taken from a node's attribute, if it has it. */
    static <T> Optional<T> attribute(NodeProto node, String name, Function<AttributeProto, T> value) {
        return node.getAttributeList().stream()
                .filter(attribute -> attribute.getName().equals(name))
                .findFirst()
                .map(value);
    }

    /** A value's element type, as numbered in ONNX's files; {@link #UNKNOWN} if it is not known. */
    int type(String value) {
        Integer known = types.get(value);
        if (known != null) {
            return known;
        }
        return outer == null ? UNKNOWN : outer.type(value);
    }

    /** Whether a value is a constant without this element. */
    boolean excludes(String value, long element) {
        TensorProto constant = constants.get(value);
        if (constant == null) {
            return outer != null && !types.containsKey(value) && outer.excludes(value, element);
        }
        boolean wide = constant.getDataType() == INT64;
        if (constant.getDataLocation() != 0 || (!wide && constant.getDataType() != INT32)) {
            return false;
        }
        if (constant.hasRawData()) {
            return !contains(constant.getRawData(), wide, element);
        }
        return wide
                ? !constant.getInt64DataList().contains(element)
                : !constant.getInt32DataList().contains((int) element);
    }

    private static boolean contains(ByteString raw, boolean wide, long element) {
        ByteBuffer data = raw.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
        int size = wide ? Long.BYTES : Integer.BYTES;
        while (data.remaining() >= size) {
            if ((wide ? data.getLong() : data.getInt()) == element) {
                return true;
            }
        }
        return false;
    }
}

package dev.isthmus.local.ort;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import ai.onnxruntime.ValueInfo;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBufUtil;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The inputs and outputs of a loaded model, in the model's order. */
final class Signature {
    /** The characters of a name that is too long which are shown. */
    private static final int SHOWN = 64;

    private final List<TensorSpec> inputs;
    private final List<TensorSpec> outputs;
    private final Map<String, TensorSpec> inputsByName;
    private final Map<String, TensorSpec> outputsByName;
    private final Map<String, ShapeRule> rules;

    private Signature(List<TensorSpec> inputs, List<TensorSpec> outputs) {
        this.inputs = inputs;
        this.outputs = outputs;
        this.inputsByName = byName(inputs);
        this.outputsByName = byName(outputs);
        Map<String, ShapeRule> known = new HashMap<>();
        for (TensorSpec output : outputs) {
            ShapeRule rule = ShapeRule.of(output, inputs);
            if (rule != null) {
                known.put(output.name(), rule);
            }
        }
        this.rules = Map.copyOf(known);
    }

    private static Map<String, TensorSpec> byName(List<TensorSpec> specs) {
        return Map.copyOf(specs.stream().collect(Collectors.toMap(TensorSpec::name, spec -> spec)));
    }

    /**
     * The signature of a session.
     *
     * @param labels the column labels of outputs that were maps
     * @param file the graph as its file has it
     * @throws OipException FAILED_PRECONDITION naming an input or output that is not supported
     */
    static Signature of(OrtSession session, Map<String, String> labels, GraphProto file) throws OrtException {
        List<TensorSpec> inputs = specs("input", session.getInputInfo().values(), Map.of(), file.getInputList());
        inputs.forEach(input -> requireName(input.name()));
        List<TensorSpec> outputs = specs("output", session.getOutputInfo().values(), labels, file.getOutputList());
        return new Signature(inputs, outputs);
    }

    /**
     * The declared inputs and outputs of a translator.
     *
     * @throws OipException FAILED_PRECONDITION naming a datatype that the protocol does not define
     */
    static Signature declared(List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
        return new Signature(declared(inputs), declared(outputs));
    }

    private static List<TensorSpec> declared(List<TensorMetadata> tensors) {
        List<TensorSpec> specs = new ArrayList<>();
        for (TensorMetadata tensor : tensors) {
            DataType type = DataType.byName(tensor.dataType())
                    .orElseThrow(() -> new OipException(
                            ErrorCode.FAILED_PRECONDITION,
                            "'" + tensor.name() + "': the protocol has no datatype " + tensor.dataType()));
            specs.add(TensorSpec.of(
                    specs.size(),
                    tensor,
                    type,
                    Collections.nCopies(tensor.shape().rank(), "")));
        }
        return List.copyOf(specs);
    }

    private static List<TensorSpec> specs(
            String kind, Collection<NodeInfo> nodes, Map<String, String> labels, List<ValueInfoProto> file) {
        Map<String, ValueInfoProto> declared = file.stream()
                .collect(Collectors.toMap(ValueInfoProto::getName, value -> value, (value, same) -> value));
        List<TensorSpec> specs = new ArrayList<>();
        for (NodeInfo node : nodes) {
            ValueInfoProto value = declared.get(node.getName());
            if (value == null) {
                // The Java API reads modified UTF-8.
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        kind + " '" + node.getName()
                                + "': a name in UTF-8 is expected, without characters beyond U+FFFF"
                                + " and U+0000; the file has another one");
            }
            DataType type = node.getInfo() instanceof TensorInfo info ? OrtTypes.type(info) : null;
            if (type == null) {
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        kind + " '" + node.getName() + "' is " + described(node.getInfo())
                                + ", which the local backend does not support");
            }
            TensorInfo tensor = (TensorInfo) node.getInfo();
            // ONNX Runtime infers shapes of outputs; it says that others are scalars, whose shape has no dimensions.
            boolean anyShape = tensor.getShape().length == 0
                    && !value.getType().getTensorType().hasShape();
            specs.add(
                    anyShape
                            ? TensorSpec.ofAnyShape(specs.size(), node.getName(), type)
                            : spec(specs.size(), node, type, labels.get(node.getName())));
        }
        return List.copyOf(specs);
    }

    /** No request could give an input of a longer name. */
    private static void requireName(String name) {
        int bytes = ByteBufUtil.utf8Bytes(name);
        int most = WireLimits.DEFAULT.nameBytes();
        if (bytes > most) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "input '" + name.substring(0, SHOWN) + "…': a name of at most " + most + " bytes is expected, got "
                            + bytes);
        }
    }

    private static String described(ValueInfo value) {
        return value instanceof TensorInfo info ? "a tensor of " + info.onnxType : "not a tensor but " + value;
    }

    private static TensorSpec spec(int index, NodeInfo node, DataType type, @Nullable String labels) {
        TensorInfo info = (TensorInfo) node.getInfo();
        Map<String, Parameter> parameters =
                labels == null ? Map.of() : Map.of(TensorSpec.LABELS, new Parameter.Text(labels));
        TensorMetadata metadata =
                new TensorMetadata(node.getName(), type.name(), Shape.of(info.getShape()), parameters);
        return TensorSpec.of(index, metadata, type, dimensions(info));
    }

    private static List<String> dimensions(TensorInfo info) {
        String[] names = info.getDimensionNames();
        return names == null || names.length != info.getShape().length
                ? Collections.nCopies(info.getShape().length, "")
                : Arrays.stream(names).map(name -> name == null ? "" : name).toList();
    }

    /**
     * This signature as a configuration limits it: configured tensors have its dimensions, and outputs that it leaves
     * out are not there.
     */
    Signature limitedTo(ModelSettings settings) {
        if (!settings.limits()) {
            return this;
        }
        List<TensorSpec> sent = settings.outputs().isEmpty()
                ? outputs
                : outputs.stream()
                        .filter(output -> TensorConfig.of(settings.outputs(), output.name())
                                .isPresent())
                        .toList();
        return new Signature(limited(inputs, settings.inputs()), limited(sent, settings.outputs()));
    }

    private static List<TensorSpec> limited(List<TensorSpec> specs, List<TensorConfig> configured) {
        return specs.stream()
                .map(spec -> TensorConfig.of(configured, spec.name())
                        .map(spec::limitedTo)
                        .orElse(spec))
                .toList();
    }

    static List<TensorMetadata> metadata(List<TensorSpec> specs) {
        return specs.stream().map(TensorSpec::metadata).toList();
    }

    List<TensorSpec> inputs() {
        return inputs;
    }

    List<TensorSpec> outputs() {
        return outputs;
    }

    @Nullable
    TensorSpec input(String name) {
        return inputsByName.get(name);
    }

    @Nullable
    TensorSpec output(String name) {
        return outputsByName.get(name);
    }

    /** The outputs that a request names, in its order; all outputs if it names none. */
    List<TensorSpec> requested(InferRequest request) {
        if (request.outputs().isEmpty()) {
            return outputs;
        }
        List<TensorSpec> wanted = new ArrayList<>(request.outputs().size());
        for (int i = 0; i < request.outputs().size(); i++) {
            wanted.add(Objects.requireNonNull(output(request.outputs().get(i).name())));
        }
        return wanted;
    }

    /** The rule that predicts an output's shape; null if it is unknown before a run. */
    @Nullable
    ShapeRule rule(TensorSpec output) {
        return rules.get(output.name());
    }
}

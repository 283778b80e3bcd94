package dev.isthmus.local.ort;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import ai.onnxruntime.ValueInfo;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The inputs and outputs of a model, as they were described at its load, in the model's order. */
final class Signature {
    private final List<TensorSpec> inputs;
    private final List<TensorSpec> outputs;
    private final Map<String, TensorSpec> inputsByName;
    private final Map<String, TensorSpec> outputsByName;
    private final List<Optional<ShapeRule>> rules;

    private Signature(List<TensorSpec> inputs, List<TensorSpec> outputs) {
        this.inputs = inputs;
        this.outputs = outputs;
        this.inputsByName = byName(inputs);
        this.outputsByName = byName(outputs);
        this.rules = outputs.stream()
                .map(output -> Optional.ofNullable(ShapeRule.of(output, inputs)))
                .toList();
    }

    private static Map<String, TensorSpec> byName(List<TensorSpec> ports) {
        return Map.copyOf(ports.stream().collect(Collectors.toMap(TensorSpec::name, port -> port)));
    }

    /**
     * Reads a session's.
     *
     * @param labels the columns of outputs that were maps
     * @throws OipException FAILED_PRECONDITION naming what cannot be carried exactly
     */
    static Signature of(OrtSession session, Map<String, String> labels) throws OrtException {
        List<TensorSpec> inputs = ports("input", session.getInputInfo().values(), Map.of());
        List<TensorSpec> outputs = ports("output", session.getOutputInfo().values(), labels);
        return new Signature(inputs, outputs);
    }

    /**
     * What a translator takes and gives, as it is declared.
     *
     * @throws OipException FAILED_PRECONDITION naming a datatype that the protocol does not have
     */
    static Signature declared(List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
        return new Signature(declared(inputs), declared(outputs));
    }

    private static List<TensorSpec> declared(List<TensorMetadata> tensors) {
        List<TensorSpec> ports = new ArrayList<>();
        for (TensorMetadata tensor : tensors) {
            DataType type = DataType.byName(tensor.dataType())
                    .orElseThrow(() -> new OipException(
                            ErrorCode.FAILED_PRECONDITION,
                            "'" + tensor.name() + "': there is no datatype " + tensor.dataType()));
            ports.add(new TensorSpec(
                    ports.size(),
                    tensor,
                    type,
                    Collections.nCopies(tensor.shape().rank(), "")));
        }
        return List.copyOf(ports);
    }

    private static List<TensorSpec> ports(String kind, Collection<NodeInfo> nodes, Map<String, String> labels) {
        List<TensorSpec> ports = new ArrayList<>();
        for (NodeInfo node : nodes) {
            DataType type = node.getInfo() instanceof TensorInfo info ? OrtTypes.type(info) : null;
            if (type == null) {
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        kind + " '" + node.getName() + "' is " + described(node.getInfo())
                                + ", which the local backend does not carry");
            }
            ports.add(port(ports.size(), node, type, labels.get(node.getName())));
        }
        return List.copyOf(ports);
    }

    private static String described(ValueInfo value) {
        return value instanceof TensorInfo info ? "a tensor of " + info.onnxType : "no tensor but " + value;
    }

    private static TensorSpec port(int index, NodeInfo node, DataType type, @Nullable String labels) {
        TensorInfo info = (TensorInfo) node.getInfo();
        Map<String, Parameter> parameters = labels == null ? Map.of() : Map.of("labels", new Parameter.Text(labels));
        TensorMetadata metadata =
                new TensorMetadata(node.getName(), type.name(), Shape.of(info.getShape()), parameters);
        return new TensorSpec(index, metadata, type, dimensions(info));
    }

    private static List<String> dimensions(TensorInfo info) {
        String[] names = info.getDimensionNames();
        return names == null || names.length != info.getShape().length
                ? Collections.nCopies(info.getShape().length, "")
                : Arrays.stream(names).map(name -> name == null ? "" : name).toList();
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

    /** The outputs that a request asks for, in its order; all of them where it names none. */
    List<TensorSpec> wanted(InferRequest request) {
        if (request.outputs().isEmpty()) {
            return outputs;
        }
        List<TensorSpec> wanted = new ArrayList<>(request.outputs().size());
        for (int i = 0; i < request.outputs().size(); i++) {
            TensorSpec port = output(request.outputs().get(i).name());
            if (port == null) {
                throw new IllegalArgumentException("the request was not checked");
            }
            wanted.add(port);
        }
        return wanted;
    }

    /** How the shape of an output is known before a run; null where it is not. */
    @Nullable
    ShapeRule rule(TensorSpec output) {
        return rules.get(output.index()).orElse(null);
    }
}

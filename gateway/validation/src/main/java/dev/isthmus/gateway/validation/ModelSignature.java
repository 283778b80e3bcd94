package dev.isthmus.gateway.validation;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.TensorHead;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The inputs and outputs that one server declares for a model, in a form that requests are compared with without
 * allocating. Immutable.
 *
 * <p>A model that declares no inputs takes any, one that declares no outputs has any: MLServer's custom runtimes and
 * KServe declare none. Not compared are datatypes that the protocol does not define, shapes that are declared as {@code
 * []}, and what a {@link #CONTENT_TYPE} says is decoded first.
 */
public final class ModelSignature {
    /** MLServer's parameter that names a codec: of a request it changes which inputs it has, of an input its form. */
    static final String CONTENT_TYPE = "content_type";

    private static final int SHOWN_NAMES = 10;

    private final List<DeclaredInput> inputs;
    private final Map<String, DeclaredInput> byName = new HashMap<>();
    private final Map<String, String> outputs = new HashMap<>();
    private final List<String> outputNames;

    /** @param dataType null if it is not known to the protocol */
    private record DeclaredInput(String name, @Nullable DataType dataType, Shape shape, boolean decoded) {

        boolean accepts(Shape given) {
            return shape.rank() == 0 || shape.accepts(given);
        }
    }

    private ModelSignature(List<DeclaredInput> inputs, List<String> outputs) {
        this.inputs = inputs;
        this.outputNames = outputs;
        inputs.forEach(input -> byName.put(input.name, input));
        outputs.forEach(output -> this.outputs.put(output, output));
    }

    /** What a server declares. */
    public static ModelSignature of(ModelMetadata metadata) {
        return new ModelSignature(
                metadata.inputs().stream().map(ModelSignature::declared).toList(),
                metadata.outputs().stream().map(TensorMetadata::name).toList());
    }

    private static DeclaredInput declared(TensorMetadata input) {
        return new DeclaredInput(
                input.name(),
                DataType.byName(input.dataType()).orElse(null),
                input.shape(),
                decoded(input.parameters()));
    }

    private static boolean decoded(Map<String, Parameter> parameters) {
        return parameters.containsKey(CONTENT_TYPE);
    }

    /** All differences of a request; empty if the server takes it. */
    public List<RequestMismatch> mismatches(RequestOutline request) {
        List<RequestMismatch> found = outputMismatches(request.outputs(), List.of());
        return inputs.isEmpty() || decoded(request.parameters()) ? found : inputMismatches(request.inputs(), found);
    }

    private List<RequestMismatch> outputMismatches(List<RequestedOutput> requested, List<RequestMismatch> before) {
        List<RequestMismatch> found = before;
        for (int i = 0; i < requested.size() && !outputs.isEmpty(); i++) {
            String name = requested.get(i).name();
            if (!outputs.containsKey(name)) {
                found = with(found, new RequestMismatch(MismatchReason.UNKNOWN_OUTPUT, name, oneOf(outputNames), ""));
            }
        }
        return found;
    }

    private List<RequestMismatch> inputMismatches(List<? extends TensorHead> given, List<RequestMismatch> before) {
        List<RequestMismatch> found = before;
        int known = 0;
        for (TensorHead input : given) {
            DeclaredInput declared = byName.get(input.name());
            if (declared == null) {
                found = with(found, unknown(input.name()));
            } else {
                known++;
                found = compared(declared, input, found);
            }
        }
        return known == inputs.size() ? found : missing(given, found);
    }

    private static List<RequestMismatch> compared(
            DeclaredInput declared, TensorHead input, List<RequestMismatch> before) {
        if (declared.decoded || decoded(input.parameters())) {
            return before;
        }
        List<RequestMismatch> found = before;
        DataType expected = declared.dataType;
        if (expected != null && expected != input.dataType()) {
            found = with(
                    found,
                    new RequestMismatch(
                            MismatchReason.DATATYPE,
                            declared.name,
                            expected.name(),
                            input.dataType().name()));
        }
        if (!declared.accepts(input.shape())) {
            found = with(
                    found,
                    new RequestMismatch(
                            MismatchReason.SHAPE,
                            declared.name,
                            declared.shape.toString(),
                            input.shape().toString()));
        }
        return found;
    }

    private RequestMismatch unknown(String name) {
        return new RequestMismatch(
                MismatchReason.UNKNOWN_INPUT,
                name,
                oneOf(inputs.stream().map(DeclaredInput::name).toList()),
                "");
    }

    private List<RequestMismatch> missing(List<? extends TensorHead> given, List<RequestMismatch> before) {
        Map<String, TensorHead> present = new HashMap<>();
        given.forEach(input -> present.put(input.name(), input));
        List<RequestMismatch> found = before;
        for (DeclaredInput declared : inputs) {
            if (!present.containsKey(declared.name)) {
                String expected = (declared.dataType == null ? "a tensor" : declared.dataType.name()) + " of shape "
                        + declared.shape;
                found = with(found, new RequestMismatch(MismatchReason.MISSING_INPUT, declared.name, expected, ""));
            }
        }
        return found;
    }

    private static List<RequestMismatch> with(List<RequestMismatch> before, RequestMismatch next) {
        List<RequestMismatch> found = before.isEmpty() ? new ArrayList<>() : before;
        found.add(next);
        return found;
    }

    private static String oneOf(List<String> names) {
        StringBuilder text = new StringBuilder(names.size() == 1 ? "" : "one of ");
        for (int i = 0; i < names.size(); i++) {
            if (i == SHOWN_NAMES) {
                return text.append(", ... (").append(names.size()).append(')').toString();
            }
            text.append(i == 0 ? "'" : ", '").append(names.get(i)).append('\'');
        }
        return text.toString();
    }
}

package dev.isthmus.local.translate;

import ai.djl.modality.Output;
import ai.djl.ndarray.BytesSupplier;
import ai.djl.ndarray.NDArray;
import ai.djl.util.Pair;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Selects the declared and requested outputs from a translator's {@link Output}. */
final class TranslatedResponse {
    private final Map<String, TensorMetadata> declared = new LinkedHashMap<>();

    TranslatedResponse(List<TensorMetadata> declared) {
        declared.forEach(tensor -> this.declared.put(tensor.name(), tensor));
    }

    /**
     * Adds the requested outputs, in the request's order.
     *
     * @throws IllegalArgumentException if one is missing or does not match its declaration
     */
    void add(Output output, InferRequest request, TranslatedTensors to) {
        Map<String, BytesSupplier> given = given(output);
        List<String> wanted = request.outputs().isEmpty()
                ? List.copyOf(declared.keySet())
                : request.outputs().stream().map(RequestedOutput::name).toList();
        for (String name : wanted) {
            BytesSupplier value = given.get(name);
            TensorMetadata tensor = declared.get(name);
            if (value == null || tensor == null) {
                throw new IllegalArgumentException("it has no '" + name + "', only " + given.keySet());
            }
            add(tensor, value, to);
        }
    }

    /** The outputs by name; one without a name gets that of the declared output at its index. */
    private Map<String, BytesSupplier> given(Output output) {
        List<String> names = List.copyOf(declared.keySet());
        Map<String, BytesSupplier> given = new LinkedHashMap<>();
        for (Pair<String, BytesSupplier> item : output.getContent()) {
            String name = item.getKey();
            if (name == null && given.size() < names.size()) {
                name = names.get(given.size());
            }
            if (name == null || !declared.containsKey(name)) {
                throw new IllegalArgumentException(
                        "'" + name + "' is not one of the outputs in config.pbtxt, " + names);
            }
            given.put(name, item.getValue());
        }
        return given;
    }

    private static void add(TensorMetadata tensor, BytesSupplier value, TranslatedTensors to) {
        if (value instanceof NDArray array) {
            Shape shape = ArrayTypes.oip(array.getShape());
            String type = ArrayTypes.oip(array.getDataType()).map(Enum::name).orElse(array.getDataType() + "");
            if (!type.equals(tensor.dataType()) || !fits(shape, tensor.shape())) {
                throw new IllegalArgumentException("'" + tensor.name() + "' is " + type + " " + shape + ", but "
                        + tensor.dataType() + " " + tensor.shape() + " is declared");
            }
            to.add(tensor.name(), array, shape);
        } else if (tensor.dataType().equals("BYTES")) {
            to.add(tensor.name(), value, tensor.shape().rank());
        } else {
            throw new IllegalArgumentException(
                    "'" + tensor.name() + "' is not an NDArray, but " + tensor.dataType() + " is declared");
        }
    }

    private static boolean fits(Shape shape, Shape declared) {
        boolean fits = shape.rank() == declared.rank();
        for (int i = 0; fits && i < shape.rank(); i++) {
            fits = declared.extent(i) < 0 || declared.extent(i) == shape.extent(i);
        }
        return fits;
    }
}

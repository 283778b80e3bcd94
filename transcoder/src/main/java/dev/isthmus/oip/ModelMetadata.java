package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * What a server says of a model.
 *
 * @param versions the versions that may be asked for; empty where the server names none
 * @param platform empty where the server names none
 * @param parameters an extension of MLServer; empty elsewhere
 */
public record ModelMetadata(
        String name,
        List<String> versions,
        String platform,
        List<TensorMetadata> inputs,
        List<TensorMetadata> outputs,
        Map<String, Parameter> parameters) {

    public ModelMetadata {
        versions = List.copyOf(versions);
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        parameters = Parameter.copyOf(parameters);
    }

    /**
     * An input or output of a model.
     *
     * @param dataType the datatype's name as the server gave it, so that one unknown to us is passed on
     * @param shape -1 for an extent of any size
     */
    public record TensorMetadata(String name, String dataType, Shape shape, Map<String, Parameter> parameters) {

        public TensorMetadata {
            parameters = Parameter.copyOf(parameters);
        }
    }
}

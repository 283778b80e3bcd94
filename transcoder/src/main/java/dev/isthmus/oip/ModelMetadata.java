package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * A server's metadata for one model.
 *
 * @param versions the versions that can be requested; empty if the server lists none
 * @param platform empty if the server sends none
 * @param parameters an extension of MLServer; empty for other servers
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
     * @param dataType the datatype's name as sent by the server, so that unknown datatypes are forwarded
     * @param shape -1 for a dimension of variable size
     */
    public record TensorMetadata(String name, String dataType, Shape shape, Map<String, Parameter> parameters) {

        public TensorMetadata {
            parameters = Parameter.copyOf(parameters);
        }
    }
}

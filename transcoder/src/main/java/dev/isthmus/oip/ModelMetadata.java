package dev.isthmus.oip;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A server's metadata for one model.
 *
 * @param versions the versions that can be requested; empty if the server lists none
 * @param platform empty if the server sends none
 * @param parameters an extension of MLServer; empty for other servers
 * @param properties those of the Open Inference Protocol, which few servers send
 */
public record ModelMetadata(
        String name,
        List<String> versions,
        String platform,
        List<TensorMetadata> inputs,
        List<TensorMetadata> outputs,
        Map<String, Parameter> parameters,
        Map<String, String> properties) {

    public ModelMetadata {
        versions = List.copyOf(versions);
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        parameters = Parameter.copyOf(parameters);
        properties = Collections.unmodifiableMap(new LinkedHashMap<>(properties));
    }

    /** Without properties. */
    public ModelMetadata(
            String name,
            List<String> versions,
            String platform,
            List<TensorMetadata> inputs,
            List<TensorMetadata> outputs,
            Map<String, Parameter> parameters) {
        this(name, versions, platform, inputs, outputs, parameters, Map.of());
    }

    /** The same under another name, with other versions and another platform. */
    public ModelMetadata with(String newName, List<String> newVersions, String newPlatform) {
        return new ModelMetadata(newName, newVersions, newPlatform, inputs, outputs, parameters, properties);
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

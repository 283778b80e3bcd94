package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converts metadata messages to values. */
final class MetadataReader {

    private MetadataReader() {}

    static ServerMetadata server(ServerMetadataResponse message) {
        return new ServerMetadata(message.getName(), message.getVersion(), message.getExtensionsList());
    }

    static ModelMetadata model(ModelMetadataResponse message) {
        return new ModelMetadata(
                message.getName(),
                message.getVersionsList(),
                message.getPlatform(),
                tensors(message.getInputsList()),
                tensors(message.getOutputsList()),
                parameters(message.getParametersMap()));
    }

    private static List<ModelMetadata.TensorMetadata> tensors(List<ModelMetadataResponse.TensorMetadata> messages) {
        return messages.stream().map(MetadataReader::tensor).toList();
    }

    private static ModelMetadata.TensorMetadata tensor(ModelMetadataResponse.TensorMetadata message) {
        Shape shape = Shape.of(
                message.getShapeList().stream().mapToLong(Long::longValue).toArray());
        return new ModelMetadata.TensorMetadata(
                message.getName(), message.getDatatype(), shape, parameters(message.getParametersMap()));
    }

    private static Map<String, Parameter> parameters(Map<String, InferParameter> messages) {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        messages.forEach((name, message) -> putParameter(parameters, name, message));
        return parameters;
    }

    /** Leaves out a parameter without a value: its type is unknown to us. */
    private static void putParameter(Map<String, Parameter> parameters, String name, InferParameter message) {
        switch (message.getParameterChoiceCase()) {
            case BOOL_PARAM -> parameters.put(name, new Parameter.Bool(message.getBoolParam()));
            case INT64_PARAM -> parameters.put(name, new Parameter.Int64(message.getInt64Param()));
            case STRING_PARAM -> parameters.put(name, new Parameter.Text(message.getStringParam()));
            case DOUBLE_PARAM -> parameters.put(name, new Parameter.Float64(message.getDoubleParam()));
            case UINT64_PARAM -> parameters.put(name, unsigned(message.getUint64Param()));
            case PARAMETERCHOICE_NOT_SET -> {}
        }
    }

    private static Parameter unsigned(long bits) {
        return bits < 0 ? new Parameter.Uint64(bits) : new Parameter.Int64(bits);
    }
}

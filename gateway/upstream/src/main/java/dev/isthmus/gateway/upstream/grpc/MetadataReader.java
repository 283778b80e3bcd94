package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.metadata.RawModelMetadata;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Converts metadata messages to values. */
final class MetadataReader {

    private MetadataReader() {}

    static ServerMetadata server(ServerMetadataResponse message) {
        return new ServerMetadata(message.getName(), message.getVersion(), message.getExtensionsList());
    }

    static ModelMetadata model(RawModelMetadata message) {
        Map<String, ByteString> extension = message.getExtensionMap();
        Map<String, InferParameter> parameters = asParameters(extension);
        return new ModelMetadata(
                message.getName(),
                message.getVersionsList(),
                message.getPlatform(),
                tensors(message.getInputsList()),
                tensors(message.getOutputsList()),
                parameters(parameters),
                parameters.isEmpty() ? asProperties(extension) : Map.of());
    }

    /** MLServer's parameters; empty if any value is not one, and so all are the protocol's properties. */
    private static Map<String, InferParameter> asParameters(Map<String, ByteString> extension) {
        Map<String, InferParameter> parameters = new LinkedHashMap<>();
        boolean valued = false;
        for (Map.Entry<String, ByteString> each : extension.entrySet()) {
            try {
                InferParameter parameter = InferParameter.parseFrom(each.getValue());
                if (!parameter.getUnknownFields().asMap().isEmpty()) {
                    return Map.of();
                }
                valued |= parameter.getParameterChoiceCase()
                        != InferParameter.ParameterChoiceCase.PARAMETERCHOICE_NOT_SET;
                parameters.put(each.getKey(), parameter);
            } catch (InvalidProtocolBufferException e) {
                return Map.of();
            }
        }
        // Empty texts are parameters without a value, too.
        return valued ? parameters : Map.of();
    }

    /** Leaves out a value that is no text. */
    private static Map<String, String> asProperties(Map<String, ByteString> extension) {
        Map<String, String> properties = new LinkedHashMap<>();
        extension.forEach((name, value) -> {
            if (value.isValidUtf8()) {
                properties.put(name, value.toStringUtf8());
            }
        });
        return properties;
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

package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Model metadata off the protobuf wire. */
final class GrpcMetadata {
    private GrpcMetadata() {}

    static ModelMetadata model(ModelMetadataResponse response) {
        return new ModelMetadata(
                response.getName(),
                List.copyOf(response.getVersionsList()),
                response.getPlatform(),
                response.getInputsList().stream().map(GrpcMetadata::tensor).toList(),
                response.getOutputsList().stream().map(GrpcMetadata::tensor).toList(),
                parameters(response.getParametersMap()));
    }

    private static ModelMetadata.TensorMetadata tensor(ModelMetadataResponse.TensorMetadata tensor) {
        long[] shape = tensor.getShapeList().stream().mapToLong(Long::longValue).toArray();
        return new ModelMetadata.TensorMetadata(
                tensor.getName(), tensor.getDatatype(), Shape.of(shape), parameters(tensor.getParametersMap()));
    }

    private static Map<String, Parameter> parameters(Map<String, InferParameter> parameters) {
        Map<String, Parameter> read = new LinkedHashMap<>();
        parameters.forEach((name, value) -> {
            switch (value.getParameterChoiceCase()) {
                case BOOL_PARAM -> read.put(name, new Parameter.Bool(value.getBoolParam()));
                case INT64_PARAM -> read.put(name, new Parameter.Int64(value.getInt64Param()));
                case STRING_PARAM -> read.put(name, new Parameter.Text(value.getStringParam()));
                case DOUBLE_PARAM -> read.put(name, new Parameter.Float64(value.getDoubleParam()));
                case UINT64_PARAM -> read.put(name, new Parameter.Uint64(value.getUint64Param()));
                // A choice that is not known here says nothing.
                case PARAMETERCHOICE_NOT_SET -> {}
            }
        });
        return read;
    }
}

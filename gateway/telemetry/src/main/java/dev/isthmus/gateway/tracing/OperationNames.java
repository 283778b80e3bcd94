package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ModelRef;
import java.util.Set;
import java.util.TreeSet;

/** The names of operations in spans: gRPC methods, and paths with names in place of values. */
final class OperationNames {
    /** A method that the gateway does not know. */
    static final String OTHER = "_OTHER";

    private static final String SERVICE = "inference.GRPCInferenceService/";
    private static final Set<String> METHODS = methods();

    private OperationNames() {}

    private static Set<String> methods() {
        Set<String> all = new TreeSet<>(Set.of(
                SERVICE + "ServerLive",
                SERVICE + "ServerReady",
                SERVICE + "ServerMetadata",
                SERVICE + "ModelReady",
                SERVICE + "ModelMetadata",
                SERVICE + "ModelInfer",
                SERVICE + "ModelStreamInfer",
                "grpc.health.v1.Health/Check",
                "grpc.health.v1.Health/Watch",
                "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
        for (Extension extension : Extension.values()) {
            all.add(SERVICE + extension.grpcMethod());
        }
        return Set.copyOf(all);
    }

    /** The method of a gRPC request's path; {@link #OTHER} if it is unknown, so that clients do not make up names. */
    static String received(String path) {
        String method = path.isEmpty() ? path : path.substring(1);
        return METHODS.contains(method) ? method : OTHER;
    }

    /** The method that a gRPC server is asked for. */
    static String method(Operation operation) {
        return SERVICE
                + switch (operation) {
                    case Operation.ServerLive request -> "ServerLive";
                    case Operation.ServerReady request -> "ServerReady";
                    case Operation.GatewayReady request -> "ServerReady";
                    case Operation.CheckHealth check -> "ModelReady";
                    case Operation.Reflect request -> "ServerMetadata";
                    case Operation.ReadServerMetadata request -> "ServerMetadata";
                    case Operation.ModelReady request -> "ModelReady";
                    case Operation.ReadModelMetadata request -> "ModelMetadata";
                    case Operation.DescribeApi request -> "ModelMetadata";
                    case Operation.Infer infer -> infer.stream() ? "ModelStreamInfer" : "ModelInfer";
                    case Operation.InferStream stream -> "ModelStreamInfer";
                    case Operation.Generate generate -> "ModelInfer";
                    case Operation.Manage manage -> manage.extension().grpcMethod();
                };
    }

    /** The path of a REST request, with {@code {model}} in place of the name and so on. */
    static String path(Operation operation, ModelRef model) {
        return switch (operation) {
            case Operation.ServerLive request -> "/v2/health/live";
            case Operation.ServerReady request -> "/v2/health/ready";
            case Operation.GatewayReady request -> "/readyz";
            case Operation.CheckHealth check -> path(check.readiness(), model);
            case Operation.Reflect request -> "/v2";
            case Operation.ReadServerMetadata request -> "/v2";
            case Operation.ModelReady request -> model(model) + "/ready";
            case Operation.ReadModelMetadata request -> model(model);
            case Operation.DescribeApi request -> (request.model() == null ? "" : model(model)) + "/openapi.json";
            case Operation.Infer infer -> model(model) + (infer.stream() ? "/infer_stream" : "/infer");
            case Operation.InferStream stream -> model(model) + "/infer";
            case Operation.Generate generate -> model(model) + (generate.stream() ? "/generate_stream" : "/generate");
            case Operation.Manage manage ->
                manage.extension()
                        .path(
                                new ModelRef(
                                        model.name().isEmpty() ? "" : "{model}",
                                        model.version().isEmpty() ? "" : "{version}"),
                                manage.resource().isEmpty() ? "" : "{resource}",
                                (what, name) -> name);
        };
    }

    private static String model(ModelRef model) {
        return model.version().isEmpty() ? "/v2/models/{model}" : "/v2/models/{model}/versions/{version}";
    }

    /** Whether a REST server is asked with POST; otherwise with GET. */
    static boolean posts(Operation operation) {
        return switch (operation) {
            case Operation.Infer infer -> true;
            case Operation.InferStream stream -> true;
            case Operation.Generate generate -> true;
            case Operation.Manage manage -> manage.change();
            case Operation.ServerLive request -> false;
            case Operation.ServerReady request -> false;
            case Operation.GatewayReady request -> false;
            case Operation.CheckHealth check -> false;
            case Operation.Reflect request -> false;
            case Operation.ReadServerMetadata request -> false;
            case Operation.ModelReady request -> false;
            case Operation.ReadModelMetadata request -> false;
            case Operation.DescribeApi request -> false;
        };
    }
}

package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.extension.Extension;
import java.util.Set;
import java.util.TreeSet;

/** The names of gRPC methods in spans. */
final class OperationNames {
    /** A method that the gateway does not know. */
    static final String OTHER = "_OTHER";

    private static final String SERVICE = "inference.GRPCInferenceService/";
    private static final Set<String> METHODS = methods();

    private OperationNames() {}

    private static Set<String> methods() {
        Set<String> all = new TreeSet<>(Set.of(
                "grpc.health.v1.Health/Check",
                "grpc.health.v1.Health/Watch",
                "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
        for (OperationKind kind : OperationKind.values()) {
            all.add(SERVICE + kind.grpcMethod());
        }
        all.remove(SERVICE);
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
        return SERVICE + operation.grpcMethod();
    }
}

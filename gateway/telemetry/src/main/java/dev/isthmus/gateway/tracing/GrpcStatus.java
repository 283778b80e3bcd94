package dev.isthmus.gateway.tracing;

import dev.isthmus.oip.ErrorCode;

/** The status of a gRPC call in spans. */
final class GrpcStatus {
    private GrpcStatus() {}

    /** The code that has the same gRPC status and gRPC's name for it. */
    static ErrorCode of(ErrorCode code) {
        return ErrorCode.ofGrpcStatus(code.grpcStatus());
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import org.jspecify.annotations.Nullable;

/**
 * The state of a gRPC call whose headers were accepted.
 *
 * @param requestHead the values of the headers
 */
record OpenedGrpcCall(
        Http2Head head,
        GrpcRequestHead requestHead,
        long deadline,
        StreamMessageForm form,
        GrpcDeframer deframer,
        RequestTurns turns,
        UnaryRequest request) {

    boolean stream() {
        return requestHead.method().streams();
    }

    @Nullable
    ContentCoding coding() {
        return requestHead.coding();
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * The state of a gRPC call whose headers were accepted.
 *
 * @param requestHead the values of the headers
 */
record OpenedGrpcCall(
        RequestHead head,
        GrpcRequestHead requestHead,
        long deadline,
        StreamMessageForm form,
        GrpcDeframer deframer,
        RequestTurns turns,
        UnaryRequest request) {

    /** @param exchange reads what a turn leaves over */
    static OpenedGrpcCall of(
            RequestHead head,
            GrpcRequestHead requestHead,
            IngressSettings settings,
            GrpcTransport transport,
            ByteBufAllocator allocator,
            GrpcExchange exchange) {
        GrpcDeframer deframer =
                new GrpcDeframer(allocator, requestHead.method().limits(settings.bodies()), requestHead.coding());
        return new OpenedGrpcCall(
                head,
                requestHead,
                requestHead.deadline(),
                requestHead.form(settings.streamForm()),
                deframer,
                new RequestTurns(transport, deframer, exchange),
                new UnaryRequest(deframer, requestHead.method().inference(), allocator));
    }

    boolean stream() {
        return requestHead.method().streams();
    }

    /** Whether a message is incomplete, or the only message has not begun. */
    boolean partial() {
        return deframer.partial() || (!stream() && !request.complete());
    }

    @Nullable
    ContentCoding coding() {
        return requestHead.coding();
    }
}

package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.dispatch.CallerAccess;
import dev.isthmus.gateway.dispatch.EmptyBodySink;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;

/** What a {@link ProxyServer} has of a control plane: a service for everything but inference, and discovered models. */
public interface ControlPlane extends AutoCloseable {
    /** A fleet that is ready and does all that it is told, and says nothing more; discovers nothing. */
    Factory NONE = data -> new ControlPlane() {};

    /** Creates the control plane of a configuration. */
    @FunctionalInterface
    interface Factory {
        ControlPlane of(DataPlane data);
    }

    /** The data plane of a configuration. */
    record DataPlane(
            GatewayConfig config,
            Upstreams upstreams,
            Upstreams.UpstreamResources resources,
            RoutingTable routes,
            WireLimits limits,
            CallerAccess access,
            GatewayReadiness gateway) {}

    default Service fleet() {
        return (call, reply) -> switch (call.operation()) {
            case Operation.ServerReady ready -> EmptyBodySink.replying(reply, new ReplyMessage.Ready(true, ""));
            case Operation.ModelReady request ->
                EmptyBodySink.replying(reply, new ReplyMessage.ModelReadyState(request.model(), true));
            case Operation.ReadServerMetadata read ->
                EmptyBodySink.replying(reply, new ReplyMessage.Server(new ServerMetadata("isthmus", "0", List.of())));
            case Operation.Manage manage ->
                EmptyBodySink.replying(reply, new ReplyMessage.Document(Unpooled.EMPTY_BUFFER));
            default ->
                new EmptyBodySink(reply, () -> {
                    throw new OipException(ErrorCode.UNIMPLEMENTED, "there is no control plane");
                });
        };
    }

    default Map<String, Upstream> discovered() {
        return Map.of();
    }

    default boolean lists(String model) {
        return false;
    }

    default ModelSignatures signatures() {
        return ModelSignatures.NONE;
    }

    default void start() {}

    @Override
    default void close() {}
}

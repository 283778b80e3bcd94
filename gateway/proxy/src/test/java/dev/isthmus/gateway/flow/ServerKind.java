package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import java.util.Collection;

/** The kinds of server whose responses have forms of their own. */
enum ServerKind {
    TRITON,
    GENERIC_GRPC,
    REST_JSON,
    REST_BINARY;

    /** Starts a gRPC server. */
    @FunctionalInterface
    interface GrpcServers {
        UpstreamConfig of(ServerDialect dialect) throws Exception;
    }

    /** A server of this kind: itself one over gRPC, or with a gateway as a REST server in front of it, which joins {@code open}. */
    UpstreamConfig start(GrpcServers grpc, Collection<AutoCloseable> open) throws Exception {
        return switch (this) {
            case TRITON -> grpc.of(ServerDialect.TRITON);
            case GENERIC_GRPC -> grpc.of(ServerDialect.GENERIC);
            case REST_JSON, REST_BINARY -> {
                Stage behind = Stage.of(grpc.of(ServerDialect.TRITON));
                open.add(behind);
                yield Stage.upstream(
                        UpstreamProtocol.REST,
                        TestConfigs.loopback(behind.port()),
                        ServerDialect.GENERIC,
                        this == REST_BINARY ? BinaryTensorData.TRUE : BinaryTensorData.FALSE,
                        false);
            }
        };
    }
}

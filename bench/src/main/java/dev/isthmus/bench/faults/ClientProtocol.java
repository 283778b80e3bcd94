package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The protocol between clients and the gateway. */
enum ClientProtocol {
    GRPC,
    REST;

    /**
     * A client of gateways on these ports.
     *
     * @param limitMillis timeout of a request
     * @param trust null for plain text
     */
    Client client(EventLoop loop, List<Integer> ports, long limitMillis, @Nullable ClientTrust trust) {
        return switch (this) {
            case GRPC -> new GrpcClient(loop, ports, limitMillis, trust);
            case REST -> new RestClient(loop, ports, limitMillis, trust);
        };
    }
}

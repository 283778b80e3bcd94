package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.util.List;

/** The protocol between clients and the gateway. */
enum ClientProtocol {
    GRPC,
    REST;

    /**
     * A client of gateways on these ports.
     *
     * @param limitMillis timeout of a request
     */
    Client client(EventLoop loop, List<Integer> ports, long limitMillis) {
        return switch (this) {
            case GRPC -> new GrpcClient(loop, ports, limitMillis);
            case REST -> new RestClient(loop, ports, limitMillis);
        };
    }
}

package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;

/** The protocol between clients and the gateway. */
enum ClientProtocol {
    GRPC,
    REST;

    Client client(EventLoop loop, int port, long limitMillis) {
        return switch (this) {
            case GRPC -> new GrpcClient(loop, port, limitMillis);
            case REST -> new RestClient(loop, port, limitMillis);
        };
    }
}

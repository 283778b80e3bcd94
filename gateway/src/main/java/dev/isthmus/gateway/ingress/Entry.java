package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.net.OpenConnections;
import java.util.function.Supplier;

/**
 * What a listener leads to.
 *
 * @param rest takes the calls of REST clients
 * @param grpc takes the calls of gRPC clients
 * @param settings asked at the beginning of each request, and of each connection for what belongs to that
 * @param connections counts those of all listeners that lead here
 */
public record Entry(
        CallHandler rest, CallHandler grpc, Supplier<IngressSettings> settings, OpenConnections connections) {
    /** Without connections yet. */
    public Entry(CallHandler rest, CallHandler grpc, Supplier<IngressSettings> settings) {
        this(rest, grpc, settings, new OpenConnections());
    }
}

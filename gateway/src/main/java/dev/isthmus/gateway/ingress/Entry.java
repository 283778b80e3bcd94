package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallHandler;
import java.util.function.Supplier;

/**
 * What a listener leads to.
 *
 * @param rest takes the calls of REST clients
 * @param grpc takes the calls of gRPC clients
 * @param settings asked at the beginning of each request, and of each connection for what belongs to that
 */
public record Entry(CallHandler rest, CallHandler grpc, Supplier<IngressSettings> settings) {}

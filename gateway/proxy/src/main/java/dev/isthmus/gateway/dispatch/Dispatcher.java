package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ExchangeHandler;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;

/**
 * What is behind the layers: requests about the gateway itself are answered here, requests about the whole fleet are
 * passed to the fleet's service, and inferences to the targets of their route. Thread-safe; the flows that it creates
 * belong to one call.
 */
final class Dispatcher implements ExchangeHandler {
    private final Service fleet;
    private final InferRules rules;
    private final Transcoder transcoder;
    private final GatewayReadiness gateway;

    /** @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management */
    Dispatcher(Service fleet, InferRules rules, Transcoder transcoder, GatewayReadiness gateway) {
        this.fleet = fleet;
        this.rules = rules;
        this.transcoder = transcoder;
        this.gateway = gateway;
    }

    @Override
    public RequestSink open(Exchange exchange) {
        Call call = exchange.call();
        return switch (call.operation()) {
            case Operation.CheckHealth check -> new HealthCheck(call, check, this::readiness, gateway, exchange);
            case Operation.Reflect request -> new ReflectionCall(exchange);
            case Operation.ServerLive live -> EmptyBodySink.replying(exchange, live());
            case Operation.GatewayReady request -> readiness(call, exchange);
            case Operation.ServerReady request -> fleet.open(call, exchange);
            case Operation.ReadServerMetadata request -> fleet.open(call, exchange);
            case Operation.ModelReady request -> fleet.open(call, exchange);
            case Operation.ReadModelMetadata request -> fleet.open(call, exchange);
            case Operation.DescribeApi request -> fleet.open(call, exchange);
            case Operation.Validate request -> fleet.open(call, exchange);
            case Operation.Manage manage -> fleet.open(call, exchange);
            case Operation.Infer infer -> IncomingRequest.of(exchange, infer, transcoder, rules);
            case Operation.InferStream request -> new StreamCallFlow(exchange, transcoder);
            case Operation.Generate generate -> GenerateCall.of(exchange, generate, rules.limits());
        };
    }

    /** A readiness operation, for gRPC's health service too. */
    private RequestSink readiness(Call call, Reply reply) {
        if (!(call.operation() instanceof Operation.GatewayReady)) {
            return fleet.open(call, reply);
        }
        String obstacle = gateway.obstacle();
        if (obstacle == null) {
            return EmptyBodySink.replying(reply, new ReplyMessage.Ready(true));
        }
        reply.fail(new OipException(ErrorCode.UNAVAILABLE, "the gateway is not ready: " + obstacle));
        return RequestSink.ENDED;
    }

    private ReplyMessage live() {
        String failure = gateway.failure();
        if (failure != null) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway has failed: " + failure);
        }
        return new ReplyMessage.Live(true);
    }
}

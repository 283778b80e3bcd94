package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;

/**
 * The layer that selects the route. Requests about the gateway itself are answered here, requests about the whole fleet
 * are passed to the fleet's service, and requests about a model to the targets of its route. Thread-safe; the flows
 * that it creates belong to one call.
 */
final class Dispatcher implements Service {
    private final RoutingTable routes;
    private final RouteKeys keys;
    private final RoutePolicyTable policies;
    private final Service fleet;
    private final InferRules rules;
    private final Transcoder transcoder;
    private final GatewayReadiness gateway;
    private final Authorization.CallRules access;

    /**
     * Creates a dispatcher for a routing table.
     *
     * @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management
     */
    Dispatcher(
            RoutingTable routes,
            RouteKeys keys,
            RoutePolicyTable policies,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway,
            Authorization.CallRules access) {
        this.routes = routes;
        this.keys = keys;
        this.policies = policies;
        this.fleet = fleet;
        this.rules = rules;
        this.transcoder = transcoder;
        this.gateway = gateway;
        this.access = access;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        ModelRef model = call.operation().requestedModel();
        Route route = model == null ? null : routes.find(model);
        if (model != null) {
            call.context().routed(keys.of(route, model));
        }
        try {
            return switch (call.operation()) {
                case Operation.CheckHealth check -> new HealthCheck(call, check, this, gateway, reply);
                case Operation.Reflect request -> new ReflectionCall(reply);
                case Operation.ServerLive live -> EmptyBodySink.replying(reply, live());
                case Operation.GatewayReady request -> EmptyBodySink.replying(reply, gatewayReady());
                case Operation.ServerReady request -> fleet.open(call, reply);
                case Operation.ReadServerMetadata request -> fleet.open(call, reply);
                case Operation.ModelReady request -> fleet.open(call, reply);
                case Operation.ReadModelMetadata request -> fleet.open(call, reply);
                case Operation.DescribeApi request -> fleet.open(call, reply);
                case Operation.Manage manage -> fleet.open(call, reply);
                case Operation.Infer infer ->
                    inference(call, infer, RoutingTable.required(route, infer.model()), reply);
                case Operation.InferStream request ->
                    new StreamCallFlow(call, request.separate(), routes, policies, access, transcoder, reply);
                case Operation.Generate generate ->
                    generate(call, generate, RoutingTable.required(route, generate.model()), reply);
            };
        } catch (OipException failure) {
            reply.fail(failure);
            return RequestSink.ENDED;
        }
    }

    private ReplyMessage live() {
        String failure = gateway.failure();
        if (failure != null) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway has failed: " + failure);
        }
        return new ReplyMessage.Live(true);
    }

    private ReplyMessage gatewayReady() {
        String obstacle = gateway.obstacle();
        if (obstacle != null) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway is not ready: " + obstacle);
        }
        return new ReplyMessage.Ready(true);
    }

    private RequestSink inference(Call call, Operation.Infer infer, Route route, Reply reply) {
        RouteCall routed = new RouteCall(call, route, infer.model(), policies, access, reply);
        return HeldRequest.of(
                routed.undecided(),
                call.loop(),
                routed,
                () -> IncomingRequest.of(call, infer, routed, transcoder, rules));
    }

    private RequestSink generate(Call call, Operation.Generate generate, Route route, Reply reply) {
        RouteCall routed = new RouteCall(call, route, generate.model(), policies, access, reply);
        return HeldRequest.of(
                routed.undecided(), call.loop(), routed, () -> GenerateCall.of(call, generate, routed, rules.limits()));
    }
}

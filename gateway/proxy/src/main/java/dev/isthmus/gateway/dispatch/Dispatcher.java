package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.json.JsonCheck;
import java.util.Map;

/**
 * The layer that chooses a route. What is asked of the gateway itself is answered here, what is asked of the whole fleet goes
 * to the service of the fleet, and what is asked of a model to the targets of its route. Shared by all event loops; the flows it
 * makes belong to one call.
 */
final class Dispatcher implements Service {
    private final RoutingTable routes;
    private final RouteKeys keys;
    private final RoutePolicyTable traffic;
    private final Service fleet;
    private final InferRules rules;
    private final Transcoder transcoder;
    private final GatewayReadiness gateway;

    /**
     * A dispatcher of the models of a table.
     *
     * @param fleet serves what is asked of the fleet and not of a model's server
     */
    Dispatcher(
            RoutingTable routes,
            RouteKeys keys,
            RoutePolicyTable traffic,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway) {
        this.routes = routes;
        this.keys = keys;
        this.traffic = traffic;
        this.fleet = fleet;
        this.rules = rules;
        this.transcoder = transcoder;
        this.gateway = gateway;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        ModelRef asked = call.operation().asked();
        Route route = asked == null ? null : routes.find(asked);
        if (asked != null) {
            call.context().routed(keys.of(route, asked));
        }
        try {
            return switch (call.operation()) {
                case Operation.ServerLive live -> EmptyBodySink.answering(reply, live());
                case Operation.GatewayReady ask -> EmptyBodySink.answering(reply, gatewayReady());
                case Operation.ServerReady ask -> fleet.open(call, reply);
                case Operation.ReadServerMetadata ask -> fleet.open(call, reply);
                case Operation.ModelReady ask -> fleet.open(call, reply);
                case Operation.ReadModelMetadata ask -> fleet.open(call, reply);
                case Operation.Manage manage -> fleet.open(call, reply);
                case Operation.Infer infer ->
                    inference(call, infer, RoutingTable.required(route, infer.model()), reply);
                case Operation.InferStream ask ->
                    new StreamCallFlow(call, ask.separate(), routes, traffic, transcoder, reply);
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
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway does not work: " + failure);
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
        RouteCall routed = new RouteCall(call, route, infer.model(), traffic);
        return IncomingRequest.of(call, infer, routed, reply, transcoder, rules);
    }

    private RequestSink generate(Call call, Operation.Generate generate, Route route, Reply reply) {
        RouteCall routed = new RouteCall(call, route, generate.model(), traffic);
        TargetSelection pick = routed.pick(new RequestAttributes(call.client(), Map.of(), ""));
        Target target = pick.target();
        Operation.Generate asked = new Operation.Generate(target.model(), generate.stream());
        Call placed = call.withAffinity(pick.affinity());
        return new PassThroughBody(call.allocator(), JsonCheck.passed(rules.limits()), reply, body -> {
            routed.received(body.readableBytes());
            try {
                routed.complete();
            } catch (OipException limited) {
                body.release();
                reply.fail(limited);
                return Subscription.NONE;
            }
            return target.upstream().generate(placed, asked, body, reply);
        });
    }
}

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
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.json.JsonCheck;
import java.util.Map;
import java.util.function.Function;

/** Answers a call itself or finds who does. Shared by all event loops; the flows it makes belong to one call. */
public final class Dispatcher implements Service {
    private final RoutingTable routes;
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
    public Dispatcher(
            RoutingTable routes,
            RoutePolicyTable traffic,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway) {
        this.routes = routes;
        this.traffic = traffic;
        this.fleet = fleet;
        this.rules = rules;
        this.transcoder = transcoder;
        this.gateway = gateway;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        try {
            return switch (call.operation()) {
                case Operation.ServerLive live -> EmptyBodySink.answering(reply, live());
                case Operation.GatewayReady ask -> EmptyBodySink.answering(reply, gatewayReady());
                case Operation.ServerReady ask -> fleet.open(call, reply);
                case Operation.ReadServerMetadata ask -> fleet.open(call, reply);
                case Operation.ModelReady ask -> fleet.open(call, reply);
                case Operation.ReadModelMetadata ask -> fleet.open(call, reply);
                case Operation.Infer infer -> admitted(call, reply, false, placed -> inference(call, infer, placed));
                case Operation.InferStream ask ->
                    admitted(
                            call,
                            reply,
                            true,
                            placed -> new StreamCallFlow(call, ask.separate(), routes, traffic, transcoder, placed));
                case Operation.Generate generate ->
                    admitted(call, reply, false, placed -> generate(call, generate, placed));
                case Operation.Manage manage -> admitted(call, reply, false, placed -> fleet.open(call, placed));
            };
        } catch (OipException failure) {
            reply.fail(failure);
            return new EmptyBodySink(() -> Subscription.NONE);
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

    /** Opens a call that needs a place: health and metadata are told however much is under way. */
    private RequestSink admitted(Call call, Reply client, boolean stream, Function<Reply, RequestSink> opening) {
        traffic.admission().check();
        AdmittedCall reply = new AdmittedCall(traffic.admission(), stream, call.memory(), client);
        return reply.around(opening.apply(reply));
    }

    private RequestSink inference(Call call, Operation.Infer infer, Reply reply) {
        RouteCall routed = new RouteCall(call, routes.route(infer.model()), infer.model(), traffic);
        return IncomingRequest.of(call, infer, routed, reply, transcoder, rules);
    }

    private RequestSink generate(Call call, Operation.Generate generate, Reply reply) {
        RouteCall routed = new RouteCall(call, routes.route(generate.model()), generate.model(), traffic);
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

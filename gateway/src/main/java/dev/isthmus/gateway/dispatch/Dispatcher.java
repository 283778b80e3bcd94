package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.WireLimits;
import java.util.function.BooleanSupplier;

/** Answers a call itself or finds who does. Shared by all event loops; the flows it makes belong to one call. */
public final class Dispatcher implements CallHandler {
    private final RoutingTable routes;
    private final BooleanSupplier ready;
    private final ServerMetadata self;
    private final WireLimits limits;
    private final Transcoder transcoder;

    /**
     * @param ready whether every upstream is, from a snapshot: asking must cost nothing
     * @param self what the gateway says of itself
     */
    public Dispatcher(RoutingTable routes, BooleanSupplier ready, ServerMetadata self, WireLimits limits) {
        this.routes = routes;
        this.ready = ready;
        this.self = self;
        this.limits = limits;
        this.transcoder = new Transcoder(limits);
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        try {
            return switch (call.operation()) {
                case Operation.ServerLive live -> answer(reply, new Answer.Live(true));
                case Operation.ServerReady ask -> answer(reply, new Answer.Ready(ready.getAsBoolean()));
                case Operation.ServerMetadata ask -> answer(reply, new Answer.Server(self));
                case Operation.ModelReady ask -> {
                    Target target = routes.pick(ask.model());
                    yield new QuerySink(() -> target.upstream().modelReady(call, target.model(), reply));
                }
                case Operation.ModelMetadata ask -> {
                    Target target = routes.pick(ask.model());
                    yield new QuerySink(() -> target.upstream().modelMetadata(call, target.model(), reply));
                }
                case Operation.Infer infer ->
                    new InferFlow(call, infer.form(), routes.pick(infer.model()), reply, transcoder, limits);
            };
        } catch (OipException failure) {
            reply.fail(failure);
            return new QuerySink(() -> Cancellation.NONE);
        }
    }

    private static RequestSink answer(Reply reply, Answer answer) {
        return new QuerySink(() -> {
            reply.only(answer);
            return Cancellation.NONE;
        });
    }
}

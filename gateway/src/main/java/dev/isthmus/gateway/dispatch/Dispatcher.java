package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.IndexQuestion;
import dev.isthmus.gateway.catalogue.Places;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import java.util.function.Supplier;

/** Answers a call itself or finds who does. Shared by all event loops; the flows it makes belong to one call. */
public final class Dispatcher implements CallHandler {
    private final RoutingTable routes;
    private final Catalogue catalogue;
    private final ManageFlow managing;
    private final InferRules rules;
    private final Transcoder transcoder;

    /**
     * A dispatcher of the models of a table.
     *
     * @param catalogue answers what is asked of the fleet
     */
    public Dispatcher(RoutingTable routes, Places places, Catalogue catalogue, InferRules rules) {
        this.routes = routes;
        this.catalogue = catalogue;
        this.managing = new ManageFlow(places, catalogue);
        this.rules = rules;
        this.transcoder = new Transcoder(rules.limits());
    }

    /** How the catalogue asks a server for its index. */
    public static IndexQuestion indexQuestion() {
        return ManageFlow.INDEX;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        try {
            return switch (call.operation()) {
                case Operation.ServerLive live -> answer(reply, new Answer.Live(true));
                case Operation.ServerReady ask -> answer(reply, new Answer.Ready(catalogue.ready()));
                case Operation.ServerMetadata ask -> answer(reply, new Answer.Server(catalogue.serverMetadata()));
                case Operation.ModelReady ask -> query(reply, () -> catalogue.modelReady(call, ask.model(), reply));
                case Operation.ModelMetadata ask ->
                    query(reply, () -> catalogue.modelMetadata(call, ask.model(), reply));
                case Operation.Infer infer ->
                    new InferFlow(call, infer, routes.route(infer.model()), reply, transcoder, rules);
                case Operation.InferStream ask -> new StreamFlow(call, ask.separate(), routes, transcoder, reply);
                case Operation.Generate generate -> {
                    Target target = routes.pick(generate.model());
                    Operation.Generate asked = new Operation.Generate(target.model(), generate.stream());
                    yield new PassedBody(
                            call.allocator(), body -> target.upstream().generate(call, asked, body, reply));
                }
                case Operation.Manage manage -> managing.open(call, manage, reply);
            };
        } catch (OipException failure) {
            reply.fail(failure);
            return new QuerySink(() -> Cancellation.NONE);
        }
    }

    private static RequestSink query(Reply reply, Supplier<Cancellation> query) {
        return new QuerySink(() -> {
            try {
                return query.get();
            } catch (OipException failure) {
                reply.fail(failure);
                return Cancellation.NONE;
            }
        });
    }

    private static RequestSink answer(Reply reply, Answer answer) {
        return new QuerySink(() -> {
            reply.only(answer);
            return Cancellation.NONE;
        });
    }
}

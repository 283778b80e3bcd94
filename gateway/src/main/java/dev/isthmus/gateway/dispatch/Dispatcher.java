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
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Transcoder;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** Answers a call itself or finds who does. Shared by all event loops; the flows it makes belong to one call. */
public final class Dispatcher implements CallHandler {
    private static final Set<String> PASSED = Set.of(
            "classification",
            "sequence",
            "model_repository",
            "model_repository(unload_dependents)",
            "schedule_policy",
            "model_configuration",
            "parameters",
            "statistics",
            "trace",
            "logging",
            "generate");

    private final RoutingTable routes;
    private final Function<ModelRef, Shadows> shadows;
    private final BooleanSupplier ready;
    private final ServerMetadata self;
    private final InferRules rules;
    private final Transcoder transcoder;

    /**
     * @param shadows of the route of a model
     * @param ready whether every upstream is, from a snapshot: asking must cost nothing
     * @param self what the gateway says of itself
     */
    public Dispatcher(
            RoutingTable routes,
            Function<ModelRef, Shadows> shadows,
            BooleanSupplier ready,
            ServerMetadata self,
            InferRules rules) {
        this.routes = routes;
        this.shadows = shadows;
        this.ready = ready;
        this.self = self;
        this.rules = rules;
        this.transcoder = new Transcoder(rules.limits());
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        try {
            return switch (call.operation()) {
                case Operation.ServerLive live -> answer(reply, new Answer.Live(true));
                case Operation.ServerReady ask -> answer(reply, new Answer.Ready(ready.getAsBoolean()));
                case Operation.ServerMetadata ask -> answer(reply, new Answer.Server(self()));
                case Operation.ModelReady ask -> {
                    Target target = routes.pick(ask.model());
                    yield new QuerySink(() -> target.upstream().modelReady(call, target.model(), reply));
                }
                case Operation.ModelMetadata ask -> {
                    Target target = routes.pick(ask.model());
                    yield new QuerySink(() -> target.upstream().modelMetadata(call, target.model(), reply));
                }
                case Operation.Infer infer ->
                    new InferFlow(
                            call,
                            infer,
                            routes.pick(infer.model()),
                            shadows.apply(infer.model()),
                            reply,
                            transcoder,
                            rules);
                case Operation.InferStream ask -> new StreamFlow(call, ask.separate(), routes, transcoder, reply);
                case Operation.Generate generate -> {
                    Target target = routes.pick(generate.model());
                    Operation.Generate asked = new Operation.Generate(target.model(), generate.stream());
                    yield new PassedBody(
                            call.allocator(), body -> target.upstream().generate(call, asked, body, reply));
                }
                case Operation.Manage manage -> manage(call, manage, reply);
            };
        } catch (OipException failure) {
            reply.fail(failure);
            return new QuerySink(() -> Cancellation.NONE);
        }
    }

    /** The gateway's own extensions, and those of the server that management requests go to. */
    private ServerMetadata self() {
        Set<String> extensions = new LinkedHashSet<>(self.extensions());
        routes.defaultUpstream()
                .ifPresent(upstream -> upstream.extensions().stream()
                        .filter(name -> PASSED.contains(name)
                                || (name.endsWith("shared_memory")
                                        && upstream.peer().sharedMemory()))
                        .forEach(extensions::add));
        return new ServerMetadata(self.name(), self.version(), List.copyOf(extensions));
    }

    private RequestSink manage(Call call, Operation.Manage manage, Reply reply) {
        Target target = manage.model().name().isEmpty() ? routes.ofServer() : routes.pick(manage.model());
        Upstream upstream = target.upstream();
        if (manage.extension().sharedMemory() && !upstream.peer().sharedMemory()) {
            throw OipException.invalid("shared memory is not enabled for upstream '" + upstream.name() + "'");
        }
        ManageBridge bridge = new ManageBridge(manage.to(target.model()), upstream, reply);
        return new PassedBody(call.allocator(), body -> bridge.send(call, body));
    }

    private static RequestSink answer(Reply reply, Answer answer) {
        return new QuerySink(() -> {
            reply.only(answer);
            return Cancellation.NONE;
        });
    }
}

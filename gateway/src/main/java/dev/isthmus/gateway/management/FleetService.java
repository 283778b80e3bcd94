package dev.isthmus.gateway.management;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.Places;
import dev.isthmus.gateway.dispatch.QuerySink;
import dev.isthmus.transcoder.WireLimits;

/** Serves the operations of the whole fleet: server readiness and metadata, models' readiness and metadata, management. */
public final class FleetService implements CallHandler {
    private final Catalogue catalogue;
    private final ManageFlow management;

    /** @param places where models go, for operations that are passed on */
    public FleetService(Places places, Catalogue catalogue, WireLimits limits) {
        this.catalogue = catalogue;
        this.management = new ManageFlow(places, catalogue, limits);
    }

    /**
     * Opens a call.
     *
     * @throws IllegalArgumentException for an operation that is not the fleet's
     */
    @Override
    public RequestSink open(Call call, Reply reply) {
        return switch (call.operation()) {
            case Operation.ServerReady ask -> QuerySink.answering(reply, ready());
            case Operation.ServerMetadata ask ->
                QuerySink.answering(reply, new Answer.Server(catalogue.serverMetadata()));
            case Operation.ModelReady ask ->
                QuerySink.of(reply, () -> catalogue.modelReady(call, ask.model(), reply));
            case Operation.ModelMetadata ask ->
                QuerySink.of(reply, () -> catalogue.modelMetadata(call, ask.model(), reply));
            case Operation.Manage manage -> management.open(call, manage, reply);
            case Operation.ServerLive other -> throw notOfTheFleet(other);
            case Operation.GatewayReady other -> throw notOfTheFleet(other);
            case Operation.Infer other -> throw notOfTheFleet(other);
            case Operation.InferStream other -> throw notOfTheFleet(other);
            case Operation.Generate other -> throw notOfTheFleet(other);
        };
    }

    private static IllegalArgumentException notOfTheFleet(Operation operation) {
        return new IllegalArgumentException("this is served by the gateway or by a model's server: " + operation);
    }

    private Answer ready() {
        String reason = catalogue.notReady();
        return new Answer.Ready(reason.isEmpty(), reason);
    }
}

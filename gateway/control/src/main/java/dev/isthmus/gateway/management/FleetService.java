package dev.isthmus.gateway.management;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.dispatch.EmptyBodySink;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.openapi.ApiDescriptions;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.WireLimits;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Serves operations on the whole fleet: server readiness and metadata, models' readiness and metadata,
 * the validation of requests, management.
 */
public final class FleetService implements Service {
    private final ModelLocations locations;
    private final Catalogue catalogue;
    private final WireLimits limits;
    private final ManageCall management;
    private final ApiDescriptions descriptions;
    private final AccessPolicy policy;

    /**
     * The service of one configuration.
     *
     * @param locations where models are routed, for operations that are forwarded
     * @param policy what callers see in lists
     */
    public FleetService(
            ModelLocations locations,
            Catalogue catalogue,
            WireLimits limits,
            AccessPolicy policy,
            ApiDescriptions descriptions) {
        this.locations = locations;
        this.catalogue = catalogue;
        this.limits = limits;
        this.policy = policy;
        this.descriptions = descriptions;
        this.management = new ManageCall(locations, catalogue, limits, policy);
    }

    /**
     * Opens a call.
     *
     * @throws IllegalArgumentException for an operation that is served elsewhere
     */
    @Override
    public RequestSink open(Call call, Reply reply) {
        return switch (call.operation()) {
            case Operation.ServerReady request -> EmptyBodySink.replying(reply, ready());
            case Operation.ReadServerMetadata request ->
                EmptyBodySink.replying(reply, new ReplyMessage.Server(metadata(call)));
            case Operation.ModelReady request ->
                EmptyBodySink.of(reply, () -> catalogue.modelReady(call, request.model(), reply));
            case Operation.ReadModelMetadata request ->
                EmptyBodySink.of(reply, () -> catalogue.modelMetadata(call, request.model(), reply));
            case Operation.DescribeApi request -> describe(call, request.model(), reply);
            case Operation.Validate request ->
                new RequestValidationCall(call, request, locations.of(request.model()), catalogue, limits, reply);
            case Operation.Manage manage -> management.open(call, manage, reply);
            case Operation other -> throw unexpected(other);
        };
    }

    private RequestSink describe(Call call, @Nullable ModelRef model, Reply reply) {
        return model == null
                ? EmptyBodySink.replying(reply, descriptions.gateway(call.context(), metadata(call)))
                : EmptyBodySink.of(
                        reply,
                        () -> catalogue.modelMetadata(
                                call, model, descriptions.describing(call.context(), model, reply)));
    }

    /** The server's metadata, without the extensions of which the caller may use nothing. */
    private ServerMetadata metadata(Call call) {
        ServerMetadata all = catalogue.serverMetadata();
        Set<String> hidden = new HashSet<>();
        Set<String> usable = new HashSet<>();
        for (Extension each : Extension.values()) {
            boolean allowed =
                    policy.onSomething(call.context(), each.permission()).allowed();
            (allowed ? usable : hidden).add(each.advertisedName());
        }
        hidden.removeAll(usable);
        List<String> shown =
                all.extensions().stream().filter(name -> !hidden.contains(name)).toList();
        return new ServerMetadata(all.name(), all.version(), shown);
    }

    private static IllegalArgumentException unexpected(Operation operation) {
        return new IllegalArgumentException("expected an operation on the fleet, got " + operation);
    }

    private ReplyMessage ready() {
        String reason = catalogue.notReady();
        return new ReplyMessage.Ready(reason.isEmpty(), reason);
    }
}

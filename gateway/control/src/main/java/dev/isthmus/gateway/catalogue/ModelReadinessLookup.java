package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.OnDemandChecks;
import dev.isthmus.gateway.fleet.OnDemandChecks.CheckResults;
import dev.isthmus.gateway.fleet.OnDemandChecks.ModelOnServer;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.function.Consumer;

/**
 * Whether a model is ready for which active checks have no result, as on-demand checks of its servers and its policy
 * say. Used on the catalogue's loop.
 */
final class ModelReadinessLookup {
    private final ModelLocations places;
    private final ModelServers servers;
    private final OnDemandChecks checks;

    ModelReadinessLookup(ModelLocations places, ModelServers servers, OnDemandChecks checks) {
        this.places = places;
        this.servers = servers;
        this.checks = checks;
    }

    void ready(ModelRef model, Consumer<LookupResult<Boolean>> then) {
        ModelLocation place = places.of(model);
        List<ModelOnServer> asked = servers.of(place, ModelServers.ASKED).stream()
                .map(server -> new ModelOnServer(server.watch().server(), server.model()))
                .toList();
        checks.check(asked, found -> then.accept(judged(place, found)));
    }

    /** A server that cannot be reached has no model that is ready; what others fail with is told to who asks. */
    private static LookupResult<Boolean> judged(ModelLocation place, LookupResult<CheckResults> found) {
        return switch (found) {
            case LookupResult.Failure<CheckResults> failure ->
                new LookupResult.Failure<>(failure.failure(), failure.keep());
            case LookupResult.Value<CheckResults> value -> {
                CheckResults told = value.value();
                yield told.unknown()
                        ? new LookupResult.Failure<>(FailureSeverity.worst(told.failures()), value.keep())
                        : new LookupResult.Value<>(count(told).satisfies(place.policy()), value.keep());
            }
        };
    }

    private static ReadyCount count(CheckResults told) {
        return new ReadyCount(told.ready(), told.answered() + told.failures().size());
    }
}

package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.OnDemandChecks;
import dev.isthmus.gateway.fleet.OnDemandChecks.CheckResults;
import dev.isthmus.gateway.fleet.OnDemandChecks.ModelOnServer;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.function.Consumer;

/**
 * Determines by on-demand checks and the model's policy whether a model is ready, if active checks have no result. Used
 * on the catalogue's loop.
 */
final class ModelReadinessLookup {
    private final ModelLocations locations;
    private final ModelServers servers;
    private final OnDemandChecks checks;

    ModelReadinessLookup(ModelLocations locations, ModelServers servers, OnDemandChecks checks) {
        this.locations = locations;
        this.servers = servers;
        this.checks = checks;
    }

    void ready(ModelRef model, Consumer<LookupResult<Boolean>> then) {
        ModelLocation location = locations.of(model);
        List<ModelOnServer> checked = servers.of(location, ModelServers.MAX_SERVERS).stream()
                .map(server -> new ModelOnServer(server.record().server(), server.model()))
                .toList();
        checks.check(checked, found -> then.accept(readiness(location, found)));
    }

    /** An unreachable server has no ready model; other failures are reported to the client. */
    private static LookupResult<Boolean> readiness(ModelLocation location, LookupResult<CheckResults> found) {
        return switch (found) {
            case LookupResult.Failure<CheckResults> failure ->
                new LookupResult.Failure<>(failure.failure(), failure.keep());
            case LookupResult.Value<CheckResults> value -> {
                CheckResults results = value.value();
                yield results.unknown()
                        ? new LookupResult.Failure<>(FailureSeverity.worst(results.failures()), value.keep())
                        : new LookupResult.Value<>(count(results).satisfies(location.policy()), value.keep());
            }
        };
    }

    private static ReadyCount count(CheckResults results) {
        return new ReadyCount(
                results.ready(), results.responses() + results.failures().size());
    }
}

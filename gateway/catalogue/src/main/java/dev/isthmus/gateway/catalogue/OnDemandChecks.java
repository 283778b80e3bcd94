package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Checks on demand whether a model is ready on some servers, if active checks have no result: for another version, or
 * for a model that is not configured by name. Concurrent callers share a check, and its result is cached for a second.
 * Used on one event loop.
 */
final class OnDemandChecks {
    private static final Duration RESULT_TTL = Duration.ofSeconds(1);
    private static final int MAX_IN_FLIGHT = 32;

    private final CatalogueRequests requests;
    private final SharedLookups<List<ModelOnServer>, CheckResults> shared;

    /** @param model the model's name on that server */
    record ModelOnServer(Upstream server, ModelRef model) {}

    /**
     * @param ready the number of servers on which the model is ready
     * @param responses the number of servers that reported the model's state
     * @param failures of the servers that did not
     */
    record CheckResults(int ready, int responses, List<OipException> failures) {

        CheckResults {
            failures = List.copyOf(failures);
        }

        /** Whether no server reported a state, for a reason other than being unreachable. */
        boolean unknown() {
            return responses == 0
                    && !failures.isEmpty()
                    && failures.stream().noneMatch(UpstreamFailures::isUnreachable);
        }
    }

    /** @param nanoTime determines the age of results */
    OnDemandChecks(CatalogueRequests requests, LongSupplier nanoTime) {
        this.requests = requests.atMost(MAX_IN_FLIGHT);
        this.shared = new SharedLookups<>(nanoTime);
    }

    /**
     * Checks each server, or joins a check in progress.
     *
     * @param then receives the results; UNAVAILABLE if too many checks are in progress
     */
    void check(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> then) {
        var known = shared.known(servers);
        if (known.isPresent()) {
            then.accept(known.get());
        } else {
            shared.lookUp(List.copyOf(servers), found -> send(servers, found), then);
        }
    }

    private void send(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> found) {
        List<Boolean> states = new ArrayList<>();
        List<OipException> failures = new ArrayList<>();
        Runnable ended = CatalogueRequests.after(servers.size(), () -> {
            int ready = Collections.frequency(states, true);
            CheckResults results = new CheckResults(ready, states.size(), failures);
            found.accept(new LookupResult.Value<>(results, RESULT_TTL));
        });
        for (ModelOnServer at : servers) {
            requests.modelReady(at.server(), at.model(), (message, failure) -> {
                if (failure == null) {
                    states.add(message instanceof ReplyMessage.ModelReadyState is && is.ready());
                } else {
                    failures.add(failure);
                }
                ended.run();
            });
        }
    }

    /**
     * Whether a model is ready. An unreachable server has no ready model; other failures are reported to the client.
     *
     * @param lost the number of servers that were not checked, because they are not ready
     */
    static LookupResult<Boolean> ready(ReadyPolicy policy, int lost, LookupResult<CheckResults> found) {
        return switch (found) {
            case LookupResult.Failure<CheckResults> failure ->
                new LookupResult.Failure<>(failure.failure(), failure.keep());
            case LookupResult.Value<CheckResults>(CheckResults results, Duration keep) -> {
                int all = results.responses() + results.failures().size() + lost;
                yield results.unknown()
                        ? new LookupResult.Failure<>(FailureSeverity.worst(results.failures()), keep)
                        : new LookupResult.Value<>(new ReadyCount(results.ready(), all).satisfies(policy), keep);
            }
        };
    }

    /** Drops all cached results, since models were loaded or unloaded. */
    void forgetAll() {
        shared.outdated(servers -> true);
    }
}

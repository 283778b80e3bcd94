package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Checks on demand whether a model is ready on some servers, if active checks have no result: for another version, or
 * for a model that is not configured by name. Concurrent callers share a check, and its result is cached for a second.
 * Used on one event loop.
 */
public final class OnDemandChecks {
    private static final Duration RESULT_TTL = Duration.ofSeconds(1);
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Requests in flight; others wait. */
    private static final int MAX_IN_FLIGHT = 32;

    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final Consumer<String> failed;
    private final SharedLookups<List<ModelOnServer>, CheckResults> shared;
    private final ConcurrencyLimiter limiter = new ConcurrencyLimiter(MAX_IN_FLIGHT);

    /**
     * One check.
     *
     * @param model the model's name on that server
     */
    public record ModelOnServer(Upstream server, ModelRef model) {}

    /**
     * The servers' responses.
     *
     * @param ready the number of servers on which the model is ready
     * @param responses the number of servers that reported the model's state
     * @param failures of the servers that did not
     */
    public record CheckResults(int ready, int responses, List<OipException> failures) {

        public CheckResults {
            failures = List.copyOf(failures);
        }

        /** Whether no server reported a state, for a reason other than being unreachable. */
        public boolean unknown() {
            return responses == 0 && !failures.isEmpty() && failures.stream().noneMatch(ModelReadyReply::unreachable);
        }
    }

    /**
     * @param loop an event loop
     * @param nanoTime determines the age of results
     * @param failed counts failed requests, by the name of the upstream
     */
    public OnDemandChecks(EventLoop loop, ByteBufAllocator allocator, LongSupplier nanoTime, Consumer<String> failed) {
        this.loop = loop;
        this.allocator = allocator;
        this.failed = failed;
        this.shared = new SharedLookups<>(nanoTime);
    }

    /**
     * Checks each server, or joins a check in progress. A request times out after five seconds and carries no client
     * headers.
     *
     * @param then receives the results; UNAVAILABLE if too many checks are in progress
     */
    public void check(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> then) {
        var known = shared.known(servers);
        if (known.isPresent()) {
            then.accept(known.get());
        } else {
            shared.lookUp(List.copyOf(servers), found -> new CheckRound(servers, found).begin(), then);
        }
    }

    /** Drops all cached results, since models were loaded or unloaded. */
    public void forgetAll() {
        shared.outdated();
    }

    /** One request to each of some servers. */
    private final class CheckRound {
        private final List<ModelOnServer> servers;
        private final Consumer<LookupResult<CheckResults>> found;
        private final List<OipException> failures = new ArrayList<>();
        private int pending;
        private int ready;
        private int responses;

        CheckRound(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> found) {
            this.servers = servers;
            this.found = found;
        }

        void begin() {
            pending = servers.size();
            if (pending == 0) {
                end();
            }
            servers.forEach(server -> limiter.submit(() -> check(server)));
        }

        private void check(ModelOnServer at) {
            Operation operation = new Operation.ModelReady(at.model());
            Call call = new Call(operation, System.nanoTime() + TIMEOUT_NANOS, Map.of(), loop, allocator);
            at.server().send(call, new UpstreamRequest.ModelReadyRequest(at.model()), new ModelReadyReply() {
                @Override
                void ready(boolean isReady) {
                    responses++;
                    ready += isReady ? 1 : 0;
                    completed();
                }

                @Override
                void failed(OipException failure) {
                    // NOT_FOUND and UNIMPLEMENTED are valid results.
                    if (failure.code() != ErrorCode.NOT_FOUND && failure.code() != ErrorCode.UNIMPLEMENTED) {
                        failed.accept(at.server().name());
                    }
                    failures.add(failure);
                    completed();
                }
            });
        }

        private void completed() {
            limiter.completed();
            pending--;
            if (pending == 0) {
                end();
            }
        }

        private void end() {
            found.accept(new LookupResult.Value<>(new CheckResults(ready, responses, failures), RESULT_TTL));
        }
    }
}

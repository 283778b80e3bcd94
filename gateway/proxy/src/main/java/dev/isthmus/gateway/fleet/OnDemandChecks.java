package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.fleet.SharedLookups.LookupResult;
import dev.isthmus.gateway.upstream.Upstream;
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
 * Asks servers at this moment whether a model is ready on them, for which active checks have no result: another version,
 * or a model that is not configured by its name. All who want to know the same at once share it, and it is kept for a
 * second. Used on one event loop.
 */
public final class OnDemandChecks {
    private static final Duration KEEP = Duration.ofSeconds(1);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Questions under way at once; others wait. */
    private static final int UNDER_WAY = 32;

    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final Consumer<String> failed;
    private final SharedLookups<List<ModelOnServer>, CheckResults> shared;
    private final ConcurrencyLimiter lane = new ConcurrencyLimiter(UNDER_WAY);

    /**
     * A question.
     *
     * @param model as it is called there
     */
    public record ModelOnServer(Upstream server, ModelRef model) {}

    /**
     * What servers answered.
     *
     * @param ready on how many the model is ready
     * @param answered how many said whether it is
     * @param failures of those that said nothing of it
     */
    public record CheckResults(int ready, int answered, List<OipException> failures) {

        public CheckResults {
            failures = List.copyOf(failures);
        }

        /** Whether nobody answered, for another reason than that a server could not be reached. */
        public boolean unknown() {
            return answered == 0 && !failures.isEmpty() && failures.stream().noneMatch(ModelReadyReply::unreachable);
        }
    }

    /**
     * @param loop an event loop
     * @param nanoTime how old results are
     * @param failed counts questions that failed, by the name of the upstream
     */
    public OnDemandChecks(EventLoop loop, ByteBufAllocator allocator, LongSupplier nanoTime, Consumer<String> failed) {
        this.loop = loop;
        this.allocator = allocator;
        this.failed = failed;
        this.shared = new SharedLookups<>(nanoTime);
    }

    /**
     * Asks each of them, or joins who does so already. Questions wait five seconds at most and carry no client's
     * headers.
     *
     * @param then gets what they answered; UNAVAILABLE where too many questions are under way
     */
    public void check(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> then) {
        var known = shared.known(servers);
        if (known.isPresent()) {
            then.accept(known.get());
        } else {
            shared.want(List.copyOf(servers), found -> new Round(servers, found).begin(), then);
        }
    }

    /** Models were loaded or unloaded: everything is asked anew. */
    public void forgetAll() {
        shared.forgetAll();
    }

    /** One question to each of some servers. */
    private final class Round {
        private final List<ModelOnServer> servers;
        private final Consumer<LookupResult<CheckResults>> found;
        private final List<OipException> failures = new ArrayList<>();
        private int open;
        private int ready;
        private int answered;

        Round(List<ModelOnServer> servers, Consumer<LookupResult<CheckResults>> found) {
            this.servers = servers;
            this.found = found;
        }

        void begin() {
            open = servers.size();
            if (open == 0) {
                end();
            }
            servers.forEach(server -> lane.ask(() -> ask(server)));
        }

        private void ask(ModelOnServer at) {
            Operation operation = new Operation.ModelReady(at.model());
            Call call = new Call(operation, System.nanoTime() + PATIENCE_NANOS, Map.of(), loop, allocator);
            at.server().modelReady(call, at.model(), new ModelReadyReply(new ModelReadyReply.ModelReadyListener() {
                @Override
                public void ready(boolean isReady) {
                    answered++;
                    ready += isReady ? 1 : 0;
                    one();
                }

                @Override
                public void failed(OipException failure) {
                    // That it has no such model, or nothing of the kind, is an answer.
                    if (failure.code() != ErrorCode.NOT_FOUND && failure.code() != ErrorCode.UNIMPLEMENTED) {
                        failed.accept(at.server().name());
                    }
                    failures.add(failure);
                    one();
                }
            }));
        }

        private void one() {
            lane.ended();
            open--;
            if (open == 0) {
                end();
            }
        }

        private void end() {
            found.accept(new LookupResult.Value<>(new CheckResults(ready, answered, failures), KEEP));
        }
    }
}

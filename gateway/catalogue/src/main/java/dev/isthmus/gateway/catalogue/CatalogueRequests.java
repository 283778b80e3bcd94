package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.Catalogue.IndexRequest;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ModelMetadataRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ModelNamesRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ModelReadyRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.ServerMetadataRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.ToDoubleBiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Sends the catalogue's own requests, without client headers and with a timeout of five seconds; those above a number in
 * flight wait in FIFO order. Used on its loop.
 */
final class CatalogueRequests {
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final BiConsumer<String, String> failed;
    private final IndexRequest index;
    private final int maxInFlight;
    /** Not bounded here: each poll waits at most once, and look-ups are bounded. */
    private final Deque<Runnable> waiting = new ArrayDeque<>();

    private int inFlight;
    private boolean draining;

    /** @param failed counts failures by upstream and kind of request */
    CatalogueRequests(
            EventLoop loop,
            ByteBufAllocator allocator,
            BiConsumer<String, String> failed,
            IndexRequest index,
            int maxInFlight) {
        this.loop = loop;
        this.allocator = allocator;
        this.failed = failed;
        this.index = index;
        this.maxInFlight = maxInFlight;
    }

    /** The same requests, of which so many are in flight at most, apart from these. */
    CatalogueRequests atMost(int requests) {
        return new CatalogueRequests(loop, allocator, failed, index, requests);
    }

    /** What is to be run after each of so many responses: then the task follows, at once if there are none. */
    static Runnable after(int responses, Runnable task) {
        AtomicInteger left = new AtomicInteger(responses);
        if (responses == 0) {
            task.run();
        }
        return () -> {
            if (left.decrementAndGet() == 0) {
                task.run();
            }
        };
    }

    /** Receives the result of a request, once. */
    @FunctionalInterface
    interface ResultHandler {
        /**
         * The request has ended.
         *
         * @param message the response, borrowed; null if there is none
         * @param failure null if there is a response
         */
        void ended(@Nullable ReplyMessage message, @Nullable OipException failure);
    }

    void serverMetadata(Upstream server, ResultHandler handler) {
        send(server, new Operation.ReadServerMetadata(), new ServerMetadataRequest(), "server_metadata", handler);
    }

    void modelMetadata(Upstream server, ModelRef model, ResultHandler handler) {
        Operation operation = new Operation.ReadModelMetadata(model);
        send(server, operation, new ModelMetadataRequest(model), "model_metadata", handler);
    }

    void modelReady(Upstream server, ModelRef model, ResultHandler handler) {
        send(server, new Operation.ModelReady(model), new ModelReadyRequest(model), "model_ready", handler);
    }

    void repositoryIndex(Upstream server, ResultHandler handler) {
        Reply reply = new FirstReply(server.name(), "repository_index", handler);
        submit(reply, () -> {
            // Servers end the call in time, but for the gateway's own backend, which may wait for its disk.
            loop.schedule(
                    () -> reply.fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "no index in time")),
                    2 * TIMEOUT_NANOS,
                    TimeUnit.NANOSECONDS);
            index.send(call(new Operation.ServerReady()), server, reply);
        });
    }

    void modelNames(Upstream server, ResultHandler handler) {
        send(server, new Operation.ServerReady(), new ModelNamesRequest(), "repository_index", handler);
    }

    private void send(
            Upstream server, Operation operation, UpstreamRequest request, String what, ResultHandler handler) {
        Reply reply = new FirstReply(server.name(), what, handler);
        submit(reply, () -> server.send(call(operation), request, reply));
    }

    private Call call(Operation operation) {
        return new Call(operation, System.nanoTime() + TIMEOUT_NANOS, Map.of(), loop, allocator);
    }

    private void submit(Reply reply, Runnable request) {
        waiting.add(() -> {
            try {
                request.run();
            } catch (RuntimeException | OutOfMemoryError fault) {
                reply.fail(new OipException(ErrorCode.INTERNAL, "internal error", fault));
            }
        });
        drain();
    }

    private void drain() {
        if (draining) {
            return;
        }
        // A request may end before run() returns: drain in a loop, not recursively.
        draining = true;
        while (inFlight < maxInFlight && !waiting.isEmpty()) {
            inFlight++;
            waiting.remove().run();
        }
        draining = false;
    }

    /** Reports the first response message, or the failure. */
    private final class FirstReply implements Reply {
        private final String upstream;
        private final String what;
        private final ResultHandler handler;
        private boolean ended;

        FirstReply(String upstream, String what, ResultHandler handler) {
            this.upstream = upstream;
            this.what = what;
            this.handler = handler;
        }

        @Override
        public void message(ReplyMessage message) {
            try {
                end(message, null);
            } finally {
                message.release();
            }
        }

        @Override
        public void complete() {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "upstream '" + upstream + "' sent no response"));
        }

        @Override
        public void fail(OipException failure) {
            // NOT_FOUND and UNIMPLEMENTED are valid results.
            if (!ended && failure.code() != ErrorCode.NOT_FOUND && failure.code() != ErrorCode.UNIMPLEMENTED) {
                failed.accept(upstream, what);
            }
            end(null, failure);
        }

        private void end(@Nullable ReplyMessage message, @Nullable OipException failure) {
            if (!ended) {
                ended = true;
                try {
                    handler.ended(message, failure);
                } finally {
                    inFlight--;
                    drain();
                }
            }
        }
    }

    /** The meters of all catalogues of a process, by configured model and by upstream. */
    static final class CatalogueMeters {
        private final MeterRegistry registry;
        private final MultiGauge ready;
        private final MultiGauge drift;
        private volatile @Nullable Catalogue shown;

        CatalogueMeters(MeterRegistry registry) {
            this.registry = registry;
            ready = gauge("isthmus.model.ready", "Whether enough of the model's servers are ready for it");
            drift = gauge("isthmus.model.drift", "Differences between what servers say of the model");
        }

        private MultiGauge gauge(String name, String what) {
            return MultiGauge.builder(name).description(what).register(registry);
        }

        /** Shows these models of a catalogue, and failures at its upstreams only. Meters that were shown before go on. */
        void show(Catalogue catalogue, List<ModelLocation> models) {
            shown = catalogue;
            List<String> names =
                    catalogue.upstreams().stream().map(Upstream::name).toList();
            registry.find("isthmus.catalogue.failures").counters().stream()
                    .filter(each -> !names.contains(each.getId().getTag("upstream")))
                    .forEach(registry::remove);
            register(ready, models, (now, model) -> now.readyModels().getOrDefault(model, false) ? 1 : 0);
            register(drift, models, (now, model) -> now.drift(model).size());
        }

        private void register(
                MultiGauge gauge, List<ModelLocation> models, ToDoubleBiFunction<Catalogue, String> value) {
            gauge.register(models.stream()
                    .map(location -> location.requested().name())
                    .map(model -> Row.of(
                            Tags.of("model", model), () -> value.applyAsDouble(Objects.requireNonNull(shown), model)))
                    .toList());
        }

        /** Counts a failed request to a server. */
        void failed(String upstream, String what) {
            Counter.builder("isthmus.catalogue.failures")
                    .description("Requests of the catalogue that failed")
                    .tag("upstream", upstream)
                    .tag("what", what)
                    .register(registry)
                    .increment();
        }
    }
}

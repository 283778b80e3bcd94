package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.BatchedModel.SentCall;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.ManagementJson;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.upstream.CallbackReply;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Micro-batching of one route: requests to a model that arrive while others of it are under way are joined along the
 * first dimension into one call, and each gets its rows of the response. A request that cannot be joined is sent as it
 * is. Thread-safe.
 */
public final class RouteBatching implements RouteService {
    private static final int MAX_MODELS = 1024;
    /** Headers that name a single request: requests that differ in them can be joined, and the call has none. */
    private static final Set<String> OF_ONE_REQUEST = Set.of("x-request-id", "traceparent", "tracestate", "baggage");

    private final BatchingConfig bounds;
    private final BatchingResources resources;
    private final LongSupplier nanoTime;
    private final Map<ServedModel, BatchedModel> models = new ConcurrentHashMap<>();

    private record ServedModel(Upstream upstream, ModelRef model) {}

    /**
     * Starts with what is known of no model.
     *
     * @param route its key, for metrics
     * @param limits of the messages
     * @param memory counts the responses of joined calls
     */
    public RouteBatching(
            String route,
            BatchingConfig config,
            WireLimits limits,
            MemoryBudget memory,
            MeterRegistry registry,
            LongSupplier nanoTime) {
        this.bounds = config;
        this.nanoTime = nanoTime;
        this.resources = new BatchingResources(
                route, new JoinCodec(limits), memory, new BatchingMeters(registry, route, this::limit));
    }

    private int limit() {
        return models.values().stream().mapToInt(BatchedModel::limit).max().orElse(1);
    }

    /** Requests that may be joined with others do not pass in parts. */
    @Override
    public long passesFrom(long inner) {
        return Math.max(inner, bounds.maxBytes());
    }

    /** The reply receives what it would receive alone. */
    @Override
    public Subscription send(Upstream upstream, Call call, UpstreamRequest sent, Reply client) {
        if (!(sent instanceof InferenceRequest request)) {
            return upstream.send(call, sent, client);
        }
        BatchedModel model = model(upstream, request.model());
        if (model != null && !model.wasAsked() && RowLimitLookup.isOffered(upstream) && model.asks()) {
            RowLimitLookup.begin(upstream, request.model(), call, model::takes);
        }
        PlainReason plain = plain(model, upstream, call, request);
        if (plain != null || model == null) {
            resources.meters().plain(plain == null ? PlainReason.MODELS : plain);
            return upstream.send(call, request, client);
        }
        BatchMember member = new BatchMember(model, upstream, call, request, client);
        SentCall alone = model.beginAlone();
        if (alone != null) {
            resources.meters().alone();
            member.send(alone);
            return member;
        }
        JoinableRequest joinable;
        try {
            joinable = read(model, member, request);
        } catch (RuntimeException | OutOfMemoryError e) {
            return Upstream.refuse(request, CallLog.failureOf(e, call.context()), client);
        }
        if (joinable == null) {
            member.send(model.begin(1));
        } else {
            member.await(joinable);
        }
        return member;
    }

    /** Their servers are asked again how many rows they take. */
    @Override
    public void modelsChanged(Set<Upstream> upstreams) {
        models.forEach((served, model) -> {
            if (upstreams.contains(served.upstream())) {
                model.forget();
            }
        });
    }

    private @Nullable BatchedModel model(Upstream upstream, ModelRef ref) {
        ServedModel key = new ServedModel(upstream, ref);
        BatchedModel known = models.get(key);
        if (known != null) {
            return known;
        }
        if (models.size() >= MAX_MODELS) {
            // Requests with a version each, which clients choose, would otherwise fill the map.
            models.values().removeIf(BatchedModel::isIdle);
        }
        return models.size() >= MAX_MODELS
                ? null
                : models.computeIfAbsent(key, absent -> new BatchedModel(ref, bounds, resources, nanoTime));
    }

    /** Why a request is sent as it is, as far as is known before it is read; null if it may be joined. */
    private @Nullable PlainReason plain(
            @Nullable BatchedModel model, Upstream upstream, Call call, InferenceRequest request) {
        if (request.events() || upstream.peer().wire() == Wire.DECODED) {
            return PlainReason.KIND;
        }
        if (call.affinity() != Call.NO_AFFINITY || call.sequence()) {
            return PlainReason.AFFINITY;
        }
        if (model != null && model.isRefused()) {
            return PlainReason.REFUSED;
        }
        if (call.hasDeadline()
                && call.deadlineNanos() - System.nanoTime()
                        <= 2 * TimeUnit.MICROSECONDS.toNanos(bounds.maxQueueDelayMicroseconds())) {
            return PlainReason.DEADLINE;
        }
        return request.bytes() > bounds.maxBytes() ? PlainReason.SIZE : null;
    }

    /** Reads a request that is to wait; null, and counted, if it cannot be joined. */
    private @Nullable JoinableRequest read(BatchedModel model, BatchMember member, InferenceRequest request) {
        Call call = member.call();
        ServerFeatures peer = member.upstream().peer();
        JoinCodec.ReadRequest read;
        try {
            read = resources.codec().read(call.allocator(), request.model(), request.message(), peer);
        } catch (OipException invalid) {
            resources.meters().plain(PlainReason.INVALID);
            return null;
        }
        PlainReason plain = read == null
                ? PlainReason.JSON
                : plain(read.request(), model.bounds().maxBatchSize());
        if (read == null || plain != null) {
            resources.meters().plain(plain == null ? PlainReason.JSON : plain);
            if (read != null) {
                read.request().release();
            }
            return null;
        }
        InferRequest decoded = read.request();
        long bytes = decoded.inputs().stream()
                .mapToLong(input -> input.data().readableBytes())
                .sum();
        int rows = (int) decoded.inputs().getFirst().shape().extent(0);
        return new JoinableRequest(decoded, JoinKey.of(decoded, headers(call), read.form()), rows, bytes);
    }

    private static @Nullable PlainReason plain(InferRequest request, int maxRows) {
        if (request.inputs().isEmpty()) {
            return PlainReason.SHAPE;
        }
        long rows = -1;
        for (Tensor input : request.inputs()) {
            if (input.shared()) {
                return PlainReason.SHARED_MEMORY;
            }
            long extent = input.shape().rank() == 0 ? 0 : input.shape().extent(0);
            if (extent < 1 || (rows >= 0 && extent != rows)) {
                return PlainReason.SHAPE;
            }
            rows = extent;
        }
        if (request.outputs().stream().anyMatch(output -> output.shared())) {
            return PlainReason.SHARED_MEMORY;
        }
        return rows >= maxRows ? PlainReason.SIZE : null;
    }

    private static Map<String, String> headers(Call call) {
        Map<String, String> headers = call.headers();
        return headers.isEmpty() || OF_ONE_REQUEST.stream().noneMatch(headers::containsKey)
                ? headers
                : headers.entrySet().stream()
                        .filter(each -> !OF_ONE_REQUEST.contains(each.getKey()))
                        .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    /** Removes its meters; calls under way continue. */
    @Override
    public void close() {
        resources.meters().close();
    }

    /**
     * Asks the servers of an upstream how many rows they take in one call to a model: {@code max_batch_size} in the model
     * configuration (Triton's protocol extension). Used on the event loop of the call that it is for.
     */
    static final class RowLimitLookup {
        private static final Logger LOG = LoggerFactory.getLogger(RowLimitLookup.class);
        private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

        private final ModelRef model;
        private final IntConsumer found;
        private int smallest = Integer.MAX_VALUE;
        private int pending;

        private RowLimitLookup(ModelRef model, IntConsumer found) {
            this.model = model;
            this.found = found;
        }

        /** Whether the servers have the extension, as far as is known. */
        static boolean isOffered(Upstream upstream) {
            return upstream.extensions().contains(Extension.MODEL_CONFIG.advertisedName());
        }

        /**
         * Asks each server that is ready, after what the event loop of this call does now.
         *
         * @param found gets the smallest number that a server says, 0 if the model does not batch; nothing if no server says
         *     any
         */
        static void begin(Upstream upstream, ModelRef model, Call call, IntConsumer found) {
            EventLoops.handOver(call.loop(), () -> new RowLimitLookup(model, found).ask(upstream, call));
        }

        private void ask(Upstream upstream, Call client) {
            List<Upstream> servers = ReplicaStatus.of(upstream, Set.of()).stream()
                    .filter(ReplicaStatus::ready)
                    .map(ReplicaStatus::server)
                    .toList();
            pending = servers.size();
            servers.forEach(server -> askServer(server, client));
        }

        private void askServer(Upstream server, Call client) {
            boolean rest = server.peer().wire() == Wire.REST;
            Operation.Manage operation = new Operation.Manage(Extension.MODEL_CONFIG, model, "", false, rest, false);
            Call call =
                    new Call(operation, System.nanoTime() + TIMEOUT_NANOS, Map.of(), client.loop(), client.allocator());
            ByteBuf body = rest ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(request());
            // A failure says nothing: not every server has the extension.
            Reply reply = new CallbackReply(message -> read(message, rest), this::ended, failure -> ended());
            try {
                server.send(call, new UpstreamRequest.ManageRequest(operation, body), reply);
            } catch (RuntimeException | OutOfMemoryError fault) {
                reply.fail(CallLog.failureOf(fault, call.context()));
            }
        }

        private byte[] request() {
            return ModelConfigRequest.newBuilder()
                    .setName(model.name())
                    .setVersion(model.version())
                    .build()
                    .toByteArray();
        }

        private void read(ReplyMessage message, boolean rest) {
            if (!(message instanceof ReplyMessage.Document document)) {
                return;
            }
            byte[] content = ByteBufUtil.getBytes(document.content());
            try {
                byte[] response = rest ? ManagementJson.toProtobuf(Extension.MODEL_CONFIG, content) : content;
                ModelConfig config = ModelConfig.parseFrom(
                        ModelConfigResponse.parseFrom(response).getConfig());
                if (!config.getName().isEmpty() && config.getMaxBatchSize() >= 0) {
                    smallest = Math.min(smallest, config.getMaxBatchSize());
                }
            } catch (IOException | OipException invalid) {
                LOG.atDebug().setCause(invalid).log("model '{}': its configuration cannot be read", model.name());
            }
        }

        private void ended() {
            pending--;
            if (pending == 0 && smallest < Integer.MAX_VALUE) {
                found.accept(smallest);
            }
        }
    }

    /**
     * What the requests of one route share.
     *
     * @param route its key
     * @param memory counts the responses of joined calls
     */
    record BatchingResources(String route, JoinCodec codec, MemoryBudget memory, BatchingMeters meters) {}
}

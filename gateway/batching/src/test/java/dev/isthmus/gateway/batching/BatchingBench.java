package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Clients on several event loops, and one upstream with batching, whose size stays at its maximum. Closing fails if a
 * buffer is still held.
 */
final class BatchingBench implements AutoCloseable {
    static final ModelRef MODEL = ModelRef.of("m");
    private static final int LOOPS = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration MINUTE = Duration.ofMinutes(1);

    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final List<UpstreamBench> loops =
            Stream.generate(UpstreamBench::new).limit(LOOPS).toList();
    private final MemoryBudget memory = new MemoryBudget(64 << 20, meters);
    private final RouteBatching batching;
    private final Upstream upstream;
    private int sent;

    BatchingBench(BatchingConfig config, Endpoint server, Wire wire) {
        this(config, server, wire, ServerCapabilities.unknown());
    }

    private BatchingBench(BatchingConfig config, Endpoint server, Wire wire, ServerCapabilities capabilities) {
        batching = new RouteBatching("route", config, WireLimits.DEFAULT, memory, meters, () -> 0);
        var settings = UpstreamSettings.of("server", server, MINUTE, Duration.ofSeconds(5), 64 << 20);
        upstream = wire == Wire.REST
                ? new RestUpstream(
                        settings,
                        capabilities,
                        PoolLimits.DEFAULT,
                        loops.getFirst().allocator())
                : new GrpcUpstream(settings, capabilities, loops.getFirst().allocator());
    }

    /** With requests that wait as long as the test wants. */
    static BatchingBench overGrpc(Endpoint server) {
        return new BatchingBench(new BatchingConfig(32, 10_000_000, 1 << 20), server, Wire.PROTOBUF);
    }

    static BatchingBench overRest(Endpoint server) {
        return new BatchingBench(new BatchingConfig(32, 10_000_000, 1 << 20), server, Wire.REST);
    }

    /** With a server that has the extension for models' configurations. */
    static BatchingBench withConfigurations(Endpoint server, Wire wire) {
        ServerCapabilities capabilities = ServerCapabilities.unknown();
        capabilities.learn(new ServerMetadata("triton", "1", List.of("model_configuration")));
        return new BatchingBench(new BatchingConfig(32, 10_000_000, 1 << 20), server, wire, capabilities);
    }

    /** Models were loaded. */
    void changed() {
        batching.modelsChanged(Set.of(upstream));
    }

    /** Sends a request from one of the event loops, one after the other. */
    RecordedReply send(byte[] request) {
        return send(request, call -> call);
    }

    /** @param change of the call */
    RecordedReply send(byte[] request, UnaryOperator<Call> change) {
        UpstreamBench loop = loops.get(sent++ % LOOPS);
        ByteBuf body = loop.allocator().buffer().writeBytes(request);
        InferMessage message = upstream.peer().wire() == Wire.REST
                ? new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON))
                : new InferMessage.ProtobufMessage(body);
        return loop.send(reply -> batching.send(
                upstream, change.apply(loop.call()), new UpstreamRequest.InferenceRequest(MODEL, message), reply));
    }

    /** Waits until all that was sent has been given to the upstream, or waits. */
    void settle() throws Exception {
        for (UpstreamBench each : loops) {
            each.settle();
        }
    }

    static byte[] bytes(RecordedReply reply) throws Exception {
        InferMessage message = reply.inference();
        try {
            return ByteBufUtil.getBytes(
                    switch (message) {
                        case InferMessage.RestMessage rest -> rest.body().content();
                        case InferMessage.ProtobufMessage protobuf -> protobuf.message();
                        default -> Unpooled.EMPTY_BUFFER;
                    });
        } finally {
            message.release();
        }
    }

    double requests(String outcome) {
        return meters.get("isthmus.batching.requests")
                .tag("outcome", outcome)
                .counter()
                .count();
    }

    double separated(String reason) {
        return meters.get("isthmus.batching.separated")
                .tag("reason", reason)
                .counter()
                .count();
    }

    /** How many requests are joined at most. */
    double limit() {
        return meters.get("isthmus.batching.limit").gauge().value();
    }

    double calls() {
        return meters.get("isthmus.batching.calls").counter().count();
    }

    /** How many requests have waited for others. */
    double waits() {
        return meters.get("isthmus.batching.wait").functionTimer().count();
    }

    @Override
    public void close() {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(memory.usage().used()).isZero());
        upstream.close();
        batching.close();
        loops.forEach(UpstreamBench::awaitNothingHeld);
        loops.forEach(UpstreamBench::close);
    }
}

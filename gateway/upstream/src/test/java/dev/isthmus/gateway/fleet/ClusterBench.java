package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
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
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Clusters of real servers on loopback; closing fails if a request or buffer is still held. */
final class ClusterBench implements AutoCloseable {
    private static final Duration MINUTE = Duration.ofSeconds(60);

    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final UpstreamBench bench = new UpstreamBench();
    private final List<Cluster> clusters = new ArrayList<>();
    private final List<ByteBuf> bodies = Collections.synchronizedList(new ArrayList<>());

    UpstreamBench bench() {
        return bench;
    }

    Cluster cluster(UpstreamProtocol protocol, Set<RetryOn> on, @Nullable Duration eachTry, Endpoint... endpoints) {
        Map<String, Object> changes = new HashMap<>();
        changes.put("connectTimeout", Duration.ofSeconds(2));
        changes.put("timeout", MINUTE);
        changes.put("tryTimeout", eachTry);
        changes.put("retry", new Retry(1, on, 0.2, 4 << 20));
        changes.put("breaker", new Breaker(1, 100, 20, MINUTE));
        return cluster(
                TestConfigs.with(TestConfigs.upstream(protocol, endpoints), changes), System::nanoTime, endpoints);
    }

    /** @param nanoTime may be ahead of the system's */
    Cluster cluster(UpstreamConfig config, LongSupplier nanoTime, Endpoint... endpoints) {
        ServerCapabilities knowledge = ServerCapabilities.unknown();
        Function<DiscoveredServer, Upstream> opening = at -> {
            var settings = UpstreamSettings.of("triton", at.address(), MINUTE, Duration.ofSeconds(2), 1 << 20);
            return config.protocol() == UpstreamProtocol.GRPC
                    ? new GrpcUpstream(settings, knowledge, bench.allocator())
                    : new RestUpstream(settings, knowledge, PoolLimits.DEFAULT, bench.allocator());
        };
        ReplicaSet replicas = UncheckedReplicas.replicas(opening, meters, nanoTime, endpoints);
        Cluster cluster = new Cluster("triton", config, knowledge, replicas, () -> {});
        clusters.add(cluster);
        return cluster;
    }

    RecordedReply infer(Cluster cluster) {
        return infer(cluster, 200_000);
    }

    RecordedReply infer(Cluster cluster, int size) {
        return infer(cluster, new byte[size]);
    }

    /** An inference whose request is these bytes. */
    RecordedReply infer(Cluster cluster, byte[] request) {
        ByteBuf body = bench.allocator().directBuffer(request.length).writeBytes(request);
        bodies.add(body);
        InferMessage message = switch (cluster.peer().wire()) {
            case PROTOBUF -> new InferMessage.ProtobufMessage(body);
            case REST -> new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON));
            case DECODED -> throw new AssertionError("no cluster is local");
        };
        return bench.send(reply -> cluster.send(
                bench.call(), new UpstreamRequest.InferenceRequest(ModelRef.of("simple"), message), reply));
    }

    long tries(CallOutcome outcome) {
        return meters.get("isthmus.upstream.requests")
                .tag("outcome", outcome.label())
                .timer()
                .count();
    }

    double hedges(String event) {
        return meters.get("isthmus.upstream.hedges")
                .tag("event", event)
                .counter()
                .count();
    }

    double retries(RetryOn reason) {
        return meters.get("isthmus.upstream.retries")
                .tag("reason", reason.name().toLowerCase(Locale.ROOT))
                .counter()
                .count();
    }

    @Override
    public void close() {
        assertThat(meters.get("isthmus.upstream.under.way").gauge().value()).isZero();
        clusters.forEach(Cluster::close);
        bench.close();
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
    }
}

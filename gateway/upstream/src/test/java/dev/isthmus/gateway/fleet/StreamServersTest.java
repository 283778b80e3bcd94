package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamStream;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which server a stream of inferences is opened on. */
class StreamServersTest {
    private final FakeUpstream one = new FakeUpstream();
    private final FakeUpstream two = new FakeUpstream();
    private final ReplicaSet replicas = UncheckedReplicas.replicas(
            at -> at.address().port() == 1 ? one : two,
            new SimpleMeterRegistry(),
            () -> 0,
            new Endpoint("127.0.0.1", 1),
            new Endpoint("127.0.0.1", 2));
    private final Cluster cluster = new Cluster(
            "triton", TestConfigs.upstream(UpstreamProtocol.GRPC), ServerCapabilities.unknown(), replicas, () -> {});

    @AfterEach
    void close() {
        cluster.close();
    }

    private void openStreams() {
        Stream.generate(() -> cluster.inferStream(
                        ReplicaFixture.call(Call.NO_AFFINITY), ReplicaFixture.MODEL, new ClientReply()))
                .limit(4)
                .toList()
                .forEach(UpstreamStream::cancel);
    }

    @Test
    void modelReadyOnAll_takesStreamsOnAll() {
        openStreams();
        assertThat(one.requests).hasSize(2);
        assertThat(two.requests).hasSize(2);
    }

    @Test
    void upstreamWithoutServers_takesNoStream() {
        try (Cluster empty = new Cluster(
                "triton",
                TestConfigs.upstream(UpstreamProtocol.GRPC),
                ServerCapabilities.unknown(),
                UncheckedReplicas.replicas(at -> one, new SimpleMeterRegistry(), () -> 0),
                () -> {})) {
            ClientReply reply = new ClientReply();
            UpstreamStream stream =
                    empty.inferStream(ReplicaFixture.call(Call.NO_AFFINITY), ReplicaFixture.MODEL, reply);

            assertThat(stream).isSameAs(UpstreamStream.ENDED);
            assertThat(reply.failure).hasMessage("upstream 'triton' has no available server");
            assertThat(one.requests).isEmpty();
        }
    }

    @Test
    void modelNotReadyOnOneServer_takesStreamsOnTheOther() {
        Replica first = replicas.all().getFirst();
        first.readiness(first.readiness().with(Map.of(ReplicaFixture.MODEL, false)));
        openStreams();
        assertThat(one.requests).isEmpty();
        assertThat(two.requests).hasSize(4);
    }
}

package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.ClusterResources.QueueDepthSource;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeV2Server;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.Dialect;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Replica sets of real servers. */
class ChecksTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final ModelRef A = ModelRef.of("a");
    private static final ModelRef B = new ModelRef("b", "2");

    private final UpstreamBench bench = new UpstreamBench();
    private final ServerCapabilities knowledge = ServerCapabilities.unknown();
    private ReplicaSet set = start(Duration.ofMillis(20), Set.of());

    @AfterEach
    void close() {
        set.close();
        bench.close();
    }

    private ReplicaSet start(Duration interval, Set<ModelRef> models, Endpoint... servers) {
        return start(TestConfigs.upstream(UpstreamProtocol.REST, servers), interval, models);
    }

    private ReplicaSet start(UpstreamConfig config, Duration interval, Set<ModelRef> models) {
        ClusterResources around = ClusterResources.real(
                bench.loop(),
                bench.allocator(),
                new SimpleMeterRegistry(),
                (names, refresh, listener) -> {
                    throw new AssertionError("there are no names");
                },
                (metrics, authority, headers, response) -> response.accept(QueueDepthSource.UNKNOWN),
                () -> false);
        Function<DiscoveredServer, Upstream> opening = at -> {
            var settings = UpstreamSettings.of("u", at.address(), PATIENCE, Duration.ofSeconds(1), 1 << 20);
            return config.protocol() == UpstreamProtocol.REST
                    ? new RestUpstream(settings, knowledge, PoolLimits.DEFAULT, bench.allocator())
                    : new GrpcUpstream(settings, knowledge, bench.allocator());
        };
        Checks checks = new Checks(interval, PATIENCE, 2, 1);
        Outliers outliers = new Outliers(5, Duration.ofMinutes(5), 0.5, 0.5, DefaultValues.of(ErrorRate.class));
        return new ReplicaSet(
                "u",
                TestConfigs.with(config, Map.of("checks", checks, "outliers", outliers)),
                opening,
                () -> models,
                around);
    }

    /** @param port 0 for any */
    private static FakeV2Server triton(int port) throws IOException {
        return FakeV2Server.on(UpstreamProtocol.REST, port, "triton")
                .with("a", "FP32")
                .with("b", "FP32");
    }

    private void watch(Set<ModelRef> models, FakeV2Server... servers) {
        set.close();
        Endpoint[] endpoints =
                Arrays.stream(servers).map(FakeV2Server::endpoint).toArray(Endpoint[]::new);
        set = start(Duration.ofMillis(20), models, endpoints);
    }

    private void awaitReady(Boolean... ready) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(set.all())
                        .extracting(replica -> switch (replica.readiness().server()) {
                            case UNKNOWN -> null;
                            case READY -> true;
                            case NOT_READY -> false;
                        })
                        .containsExactly(ready));
    }

    private ReplicaStatus seen(int server) {
        return set.members().get(server);
    }

    private List<String> picked(ModelRef model) {
        Call call = ReplicaFixture.call(Call.NO_AFFINITY);
        return Stream.generate(() -> set.pick(call, model, List.of()))
                .limit(50)
                .map(Replica::label)
                .distinct()
                .toList();
    }

    @Test
    void serverThatIsReady_isSeen() throws Exception {
        try (FakeV2Server server = triton(0)) {
            watch(Set.of(), server);

            awaitReady(true);
            assertThat(set.members())
                    .containsExactly(new ReplicaStatus(
                            "u",
                            server.endpoint().authority(),
                            set.all().getFirst().server(),
                            true,
                            true,
                            "",
                            Map.of(),
                            false,
                            false));
            assertThat(server.calls("ServerMetadata")).isEqualTo(1);
            assertThat(knowledge.dialect()).isEqualTo(Dialect.TRITON);
        }
    }

    @ParameterizedTest
    @EnumSource(UpstreamProtocol.class)
    void mlserverUnderItsOwnName_isRecognized(UpstreamProtocol protocol) throws Exception {
        try (FakeV2Server server = FakeV2Server.on(protocol, 0, "production")) {
            server.unknownModel = "Model isthmus-dialect-check not found";
            set.close();
            set = start(TestConfigs.upstream(protocol, server.endpoint()), Duration.ofMillis(20), Set.of());

            awaitReady(true);
            assertThat(knowledge.dialect()).isEqualTo(Dialect.MLSERVER);
        }
    }

    @Test
    void serverThatIsNotReady_getsNoCalls() throws Exception {
        try (FakeV2Server good = triton(0);
                FakeV2Server bad = triton(0)) {
            bad.serverReady = false;
            watch(Set.of(), good, bad);

            awaitReady(true, false);
            assertThat(seen(1).reason()).isEqualTo("the server reports that it is not ready");
            assertThat(picked(A)).containsExactly(good.endpoint().authority());
            bad.serverReady = true;
            awaitReady(true, true);
            assertThat(picked(A)).hasSize(2);
        }
    }

    @Test
    void modelThatIsNotReadyOnOneServer_getsNoCallsThere() throws Exception {
        try (FakeV2Server one = triton(0);
                FakeV2Server two = triton(0)) {
            one.ready.remove("a");
            watch(Set.of(A, B), one, two);

            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(set.members())
                            .extracting(ReplicaStatus::models)
                            .containsExactly(Map.of(A, false, B, true), Map.of(A, true, B, true)));
            assertThat(picked(A)).containsExactly(two.endpoint().authority());
            assertThat(picked(B)).hasSize(2);
            one.ready.add("a");
            one.ready.remove("b");
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(seen(0).models()).isEqualTo(Map.of(A, true, B, false)));
        }
    }

    @Test
    void serverThatIsReplaced_isDescribedAnew() throws Exception {
        FakeV2Server first = triton(TestConfigs.unusedEndpoint().port());
        watch(Set.of(), first);
        awaitReady(true);
        first.close();
        awaitReady(false);
        assertThat(seen(0).reason()).contains("not reachable").doesNotContain("127.0.0.1");

        try (FakeV2Server second =
                FakeV2Server.on(UpstreamProtocol.REST, first.endpoint().port(), "mlserver")) {
            awaitReady(true);
            assertThat(second.calls("ServerMetadata")).isEqualTo(1);
            assertThat(knowledge.dialect()).isEqualTo(Dialect.MLSERVER);
        }
    }

    @Test
    void ejectedServerThatRestarts_isUsedAgain() throws Exception {
        try (FakeV2Server other = triton(0)) {
            FakeV2Server first = triton(TestConfigs.unusedEndpoint().port());
            watch(Set.of(), other, first);
            awaitReady(true, true);
            first.close();
            ReplicaFixture.fail(set.all().get(1), 5);
            awaitReady(true, false);
            assertThat(seen(1).ejected()).isTrue();

            try (FakeV2Server second = triton(first.endpoint().port())) {
                awaitReady(true, true);
                assertThat(seen(1).ejected()).isFalse();
                assertThat(picked(A)).contains(second.endpoint().authority());
            }
        }
    }

    @Test
    void grpcServerThatRestarts_isSeenWithinFiveSeconds() throws Exception {
        int port = TestConfigs.unusedEndpoint().port();
        try (FakeV2Server first = FakeV2Server.on(UpstreamProtocol.GRPC, port).with("a", "FP32")) {
            set.close();
            set = start(
                    TestConfigs.upstream(UpstreamProtocol.GRPC, first.endpoint()), Duration.ofMillis(200), Set.of(A));
            awaitReady(true);
        }
        awaitReady(false);

        try (FakeV2Server second = FakeV2Server.on(UpstreamProtocol.GRPC, port).with("a", "FP32")) {
            await().atMost(Duration.ofSeconds(5)).until(() -> seen(0).ready());
            assertThat(seen(0).label()).isEqualTo(second.endpoint().authority());
        }
    }

    @Test
    void serverThatDoesNotRespond_getsOneRequestAtATime() throws Exception {
        try (FakeV2Server good = triton(0);
                FakeV2Server mute = triton(0)) {
            mute.mute = true;
            watch(Set.of(), good, mute);

            await().atMost(PATIENCE).until(() -> good.calls("ServerReady") > 10);

            assertThat(mute.calls("ServerMetadata") + mute.calls("ServerReady")).isEqualTo(1);
        }
    }

    @Test
    void closedSet_asksNoMore() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok("{\"name\":\"triton\"}"))) {
            set.close();
            set = start(Duration.ofMillis(20), Set.of(), server.endpoint());
            awaitReady(true);

            set.close();
            bench.settle();

            await().atMost(PATIENCE).until(() -> server.open() == 0);
        }
    }
}

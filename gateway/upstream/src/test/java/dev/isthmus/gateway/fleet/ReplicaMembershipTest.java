package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.ClusterResources.CheckPace;
import dev.isthmus.gateway.fleet.ClusterResources.QueueDepthSource;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Balance;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.Upstream;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Replica sets with manual discovery, on a loop whose clock the test advances. */
class ReplicaMembershipTest {
    private static final Endpoint ONE = new Endpoint("10.0.0.1", 8001);
    private static final Endpoint TWO = new Endpoint("10.0.0.2", 8001);
    private static final Endpoint NAME = new Endpoint("triton.test", 8001);

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private final Map<Endpoint, Long> pending = new HashMap<>();
    private Consumer<List<DiscoveredServer>> listener = found -> {};
    private long now = 77;

    @BeforeEach
    void stopTime() {
        loop.freezeTime();
    }

    @AfterEach
    void close() {
        loop.finishAndReleaseAll();
    }

    private ReplicaSet start(BalancePolicy policy, Endpoint... endpoints) {
        ClusterResources around = new ClusterResources(
                loop.eventLoop(),
                UnpooledByteBufAllocator.DEFAULT,
                meters,
                () -> now,
                new Random(5),
                new ByHand(),
                (metrics, authority, headers, response) ->
                        response.accept(pending.getOrDefault(metrics, QueueDepthSource.UNKNOWN)),
                new CheckPace(loop.eventLoop(), () -> now),
                new DrainedServers(() -> now),
                () -> false);
        UpstreamConfig config = TestConfigs.with(
                TestConfigs.upstream(UpstreamProtocol.GRPC, endpoints),
                Map.of(
                        "timeout",
                        Duration.ofSeconds(30),
                        "balance",
                        new Balance(policy, Duration.ofSeconds(10), 8002)));
        return new ReplicaSet("u", config, at -> new FakeUpstream(), Set::of, around);
    }

    private void find(Endpoint... servers) {
        listener.accept(Arrays.stream(servers)
                .map(server -> new DiscoveredServer(server, NAME.authority()))
                .toList());
    }

    private void pass(Duration time) {
        now += time.toNanos();
        loop.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        loop.runPendingTasks();
    }

    @Test
    void moreServersThanTheLimit_areLeftOut() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            find(IntStream.rangeClosed(0, ReplicaSet.MAX_SERVERS)
                    .mapToObj(i -> new Endpoint("10.1." + i / 256 + "." + i % 256, 8001))
                    .toArray(Endpoint[]::new));
            assertThat(set.all()).hasSize(ReplicaSet.MAX_SERVERS);
        }
    }

    private static boolean closed(Upstream server) {
        return ((FakeUpstream) server).closed > 0;
    }

    private List<String> meterNames() {
        return meters.getMeters().stream()
                .map(meter -> meter.getId().getName() + " " + meter.getId().getTag("endpoint"))
                .sorted()
                .toList();
    }

    @Test
    void namesThatWereNotFoundYet_areNoServers() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            assertThat(set.pick(ReplicaFixture.call(Call.NO_AFFINITY), ReplicaFixture.MODEL, List.of()))
                    .isNull();
            assertThat(set.resolved()).isNotDone();

            find(ONE);
            first.complete(null);

            assertThat(set.resolved()).isDone();
            assertThat(set.all()).extracting(Replica::label).containsExactly("10.0.0.1:8001");
        }
    }

    @Test
    void literalAddresses_areThereAtOnce() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, ONE, TWO)) {
            assertThat(set.resolved()).isDone();
            assertThat(set.all()).extracting(Replica::label).containsExactly("10.0.0.1:8001", "10.0.0.2:8001");
        }
    }

    @Test
    void addressThatIsFoundTwice_isOneServer() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, ONE, NAME)) {
            find(TWO, ONE, TWO);

            assertThat(set.all()).extracting(Replica::label).containsExactly("10.0.0.1:8001", "10.0.0.2:8001");
        }
    }

    @Test
    void serverThatStays_keepsWhatIsKnownOfIt() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            find(ONE);
            Replica stays = set.all().getFirst();

            find(TWO, ONE);

            assertThat(set.all()).hasSize(2).element(1).isSameAs(stays);
        }
    }

    @Test
    void firstServers_startAtOnce_laterOnesSlowly() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            find(ONE);
            first.complete(null);
            find(ONE, TWO);

            assertThat(set.all())
                    .extracting(replica -> replica.slowStart().share(now))
                    .containsExactly(1.0, 0.1);
        }
    }

    @Test
    void serverThatGoes_isClosedWhenItsCallsHaveEnded() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            find(ONE, TWO);
            Replica goes = set.all().getFirst();
            goes.started();
            find(TWO);

            pass(Duration.ofSeconds(1));
            assertThat(set.all()).doesNotContain(goes);
            assertThat(closed(goes.server())).isFalse();
            goes.ended(CallOutcome.ANSWERED, 1, false);
            pass(Duration.ofSeconds(1));
            assertThat(closed(goes.server())).isTrue();
        }
    }

    @Test
    void serverThatGoes_isNotWaitedForLongerThanACallMayTake() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME)) {
            find(ONE, TWO);
            Replica goes = set.all().getFirst();
            goes.started();
            find(TWO);

            IntStream.range(0, 29).forEach(second -> pass(Duration.ofSeconds(1)));
            assertThat(closed(goes.server())).isFalse();
            pass(Duration.ofSeconds(1));
            assertThat(closed(goes.server())).isTrue();
        }
    }

    @Test
    void closedSet_closesAllServers() {
        ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, NAME);
        find(ONE, TWO);
        List<Replica> before = set.all();
        before.getFirst().started();
        find(TWO);

        set.close();

        assertThat(before).allMatch(replica -> closed(replica.server()));
        find(ONE);
        assertThat(meterNames()).isEmpty();
    }

    @Test
    void meters_areThoseOfTheServers() {
        try (ReplicaSet set = start(BalancePolicy.QUEUE_AWARE, NAME)) {
            find(ONE, TWO);
            assertThat(meterNames()).contains("isthmus.endpoint.healthy 10.0.0.1:8001");
            long ofTwo = meterNames().stream()
                    .filter(each -> each.endsWith("2:8001"))
                    .count();

            find(TWO);

            assertThat(set.all()).hasSize(1);
            assertThat(meterNames())
                    .contains(
                            "isthmus.endpoint.ejections 10.0.0.2:8001",
                            "isthmus.endpoint.healthy 10.0.0.2:8001",
                            "isthmus.endpoint.pending 10.0.0.2:8001",
                            "isthmus.endpoint.under.way 10.0.0.2:8001")
                    .noneMatch(each -> each.endsWith("1:8001"));
            assertThat(meterNames().stream().filter(each -> each.endsWith("2:8001")))
                    .hasSize(Math.toIntExact(ofTwo));
        }
    }

    @Test
    void meters_showWhatIsKnown() {
        try (ReplicaSet set = start(BalancePolicy.QUEUE_AWARE, ONE, TWO)) {
            Replica one = set.all().getFirst();
            pending.put(new Endpoint("10.0.0.1", 8002), 9L);
            ReplicaFixture.fail(one, 5);
            one.started();
            pass(Duration.ofSeconds(1));

            var ofOne = meters.get("isthmus.endpoint.pending").tag("endpoint", one.label());
            assertThat(ofOne.gauge().value()).isEqualTo(9);
            assertThat(value("isthmus.endpoint.healthy", one)).isZero();
            assertThat(value("isthmus.endpoint.under.way", one)).isEqualTo(1);
            assertThat(meters.get("isthmus.endpoint.ejections")
                            .tag("endpoint", one.label())
                            .functionCounter()
                            .count())
                    .isEqualTo(1);
            assertThat(value("isthmus.endpoint.pending", set.all().get(1))).isNaN();
        }
    }

    private double value(String name, Replica replica) {
        return meters.get(name)
                .tags("upstream", "u", "endpoint", replica.label())
                .gauge()
                .value();
    }

    @Test
    void queueAware_goesWhereLessWaits() {
        try (ReplicaSet set = start(BalancePolicy.QUEUE_AWARE, ONE, TWO)) {
            pending.put(new Endpoint("10.0.0.1", 8002), 9L);
            pending.put(new Endpoint("10.0.0.2", 8002), 3L);
            pass(Duration.ofSeconds(1));

            for (int i = 0; i < 20; i++) {
                assertThat(set.pick(ReplicaFixture.call(Call.NO_AFFINITY), ReplicaFixture.MODEL, List.of()))
                        .isSameAs(set.all().get(1));
            }
        }
    }

    private static void calls(Replica replica, CallOutcome outcome) {
        for (int i = 0; i < 100; i++) {
            ReplicaFixture.call(replica, outcome, Duration.ofMillis(1));
        }
    }

    @Test
    void serverThatIsInServiceAgain_isNotJudgedByItsCallsBefore() {
        try (ReplicaSet set = start(BalancePolicy.ROUND_ROBIN, ONE, TWO)) {
            Replica mended = set.all().get(0);
            Replica other = set.all().get(1);
            DrainedServers drained = set.resources().drained();
            // Both fail, so that neither stands out.
            calls(mended, CallOutcome.ERROR);
            calls(other, CallOutcome.ERROR);
            pass(Duration.ofSeconds(12));
            drained.change(mended.label(), "drained by alice: new driver");
            pass(Duration.ofSeconds(12));
            drained.change(mended.label(), null);
            calls(mended, CallOutcome.ANSWERED);
            calls(other, CallOutcome.ANSWERED);
            pass(Duration.ofSeconds(12));

            assertThat(mended.ejection().ejected(now)).isFalse();
        }
    }

    private final class ByHand implements Discovery {
        @Override
        public Registration watch(List<ServerAddress> names, Duration refresh, Consumer<List<DiscoveredServer>> found) {
            listener = found;
            return new Registration() {
                @Override
                public CompletableFuture<Void> first() {
                    return first;
                }

                @Override
                public void close() {}
            };
        }
    }
}

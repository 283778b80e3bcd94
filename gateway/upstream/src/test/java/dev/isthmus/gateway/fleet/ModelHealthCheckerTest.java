package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.ClusterResources.CheckPace;
import dev.isthmus.gateway.fleet.HealthChecker.ModelHealthChecker;
import dev.isthmus.gateway.fleet.Replica.SlowStart;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rounds of checks of one server, on a loop whose clock the test advances. */
class ModelHealthCheckerTest {
    private static final ModelRef A = ModelRef.of("a");
    private static final ModelRef B = ModelRef.of("b");
    private static final ModelRef C = ModelRef.of("c");

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FakeUpstream server = new FakeUpstream();
    private final CheckPace pace = new CheckPace(loop.eventLoop(), this::now);
    private final Replica replica = new Replica(
            "server",
            server,
            this::now,
            new Ejection(
                    new Outliers(0, Duration.ofSeconds(1), 0, 0, DefaultValues.of(ErrorRate.class)),
                    new Object(),
                    () -> false),
            SlowStart.full(Duration.ZERO, 0),
            null,
            new AtomicLong());
    private final Set<ModelRef> models = new LinkedHashSet<>(List.of(A, B));
    private final ModelHealthChecker checker = new ModelHealthChecker(
            replica,
            new Checks(Duration.ofSeconds(1), Duration.ofSeconds(1), 2, 1),
            () -> models,
            new ClusterResources(
                    loop.eventLoop(),
                    UnpooledByteBufAllocator.DEFAULT,
                    new SimpleMeterRegistry(),
                    this::now,
                    new Random(1),
                    (addresses, refresh, listener) -> {
                        throw new AssertionError("no names are looked up");
                    },
                    (metrics, authority, headers, response) -> {
                        throw new AssertionError("no queues are looked at");
                    },
                    pace,
                    new DrainedServers(this::now),
                    () -> false),
            () -> ReplicaFixture.call(Call.NO_AFFINITY));
    private long now = 5;

    @BeforeEach
    void stopTime() {
        loop.freezeTime();
        server.features = new ServerFeatures(Wire.REST, Dialect.GENERIC, false, false);
    }

    @AfterEach
    void close() {
        loop.finishAndReleaseAll();
    }

    private long now() {
        return now;
    }

    private void pass(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runPendingTasks();
    }

    private void probe() {
        checker.probe();
        loop.runPendingTasks();
    }

    private void respond(ReceivedRequest received, boolean ready) {
        received.reply.message(new ReplyMessage.ModelReadyState(A, ready));
        received.reply.complete();
        loop.runPendingTasks();
    }

    private Map<ModelRef, Boolean> seen() {
        return replica.readiness().models();
    }

    /** One round of all models, all of them ready. */
    private void round() {
        int before = server.requests.size();
        probe();
        for (int i = 0; i < models.size(); i++) {
            respond(server.requests.get(before + i), true);
        }
        pass(1_000);
    }

    @Test
    void firstRound_checksOneModelAfterTheOther_withoutLimit() {
        pace.perSecond(10);
        probe();

        assertThat(server.requests).hasSize(1);
        respond(server.last(), true);
        assertThat(server.requests).hasSize(2);
        respond(server.last(), false);
        pass(20);
        assertThat(seen()).isEqualTo(Map.of(A, true, B, false));
        assertThat(server.requests).hasSize(2);
    }

    @Test
    void overHttp2_aFewModelsAreCheckedTogether() {
        server.features = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
        models.clear();
        IntStream.range(0, 10).forEach(model -> models.add(ModelRef.of("m" + model)));
        probe();

        assertThat(server.requests).hasSize(8);
        List.copyOf(server.requests).forEach(received -> respond(received, true));
        assertThat(server.requests).hasSize(10);
        server.requests.subList(8, 10).forEach(received -> respond(received, true));
        pass(20);
        assertThat(seen()).hasSize(10).doesNotContainValue(false);
    }

    @Test
    void laterRounds_goAtTheLimitedRate() {
        round();
        pace.perSecond(10);
        pass(5_000);
        probe();
        respond(server.last(), true);
        probe();

        assertThat(server.requests).hasSize(3);
        pass(1_000);
        assertThat(server.requests).hasSize(4);
    }

    @Test
    void newModel_isCheckedWhileARoundWaits() {
        round();
        pace.perSecond(10);
        pass(5_000);
        probe();
        respond(server.last(), true);
        models.add(C);
        probe();

        assertThat(server.requests).hasSize(4);
        respond(server.last(), true);
        pass(20);
        assertThat(seen()).isEqualTo(Map.of(A, true, B, true, C, true));
    }

    @Test
    void removedModel_isNotCheckedAgain() {
        round();
        models.remove(A);
        probe();
        respond(server.last(), true);
        pass(1_000);

        assertThat(server.requests).hasSize(3);
        assertThat(seen()).isEqualTo(Map.of(B, true));
    }

    @Test
    void modelWithoutAResult_isNotKnown_andIsCheckedAgain() {
        probe();
        server.last().reply.fail(new OipException(ErrorCode.UNAUTHENTICATED, "no key"));
        loop.runPendingTasks();
        respond(server.last(), true);
        pass(1_000);
        assertThat(seen()).isEqualTo(Map.of(B, true));

        round();
        assertThat(seen()).isEqualTo(Map.of(A, true, B, true));
    }

    @Test
    void probesThatThrow_changeNothing_andAreRepeated() {
        round();
        server.beforeReturn = received -> {
            throw new IllegalStateException("broken");
        };
        probe();
        pass(1_000);
        server.beforeReturn = received -> {};
        round();
        assertThat(server.requests).hasSize(6);
        assertThat(seen()).isEqualTo(Map.of(A, true, B, true));
    }

    @Test
    void resultAfterTheServerWasLost_doesNotCount() {
        round();
        probe();
        checker.reset();
        respond(server.last(), false);
        pass(1_000);

        assertThat(seen()).isEmpty();
        round();
        assertThat(seen()).isEqualTo(Map.of(A, true, B, true));
    }

    @Test
    void recheck_countsAtOnce_andEarlierProbesDoNot() {
        round();
        probe();
        ReceivedRequest earlier = server.last();
        CompletableFuture<Void> known = checker.recheck("a");
        ReceivedRequest recheck = server.last();
        assertThat(recheck).isNotSameAs(earlier);
        assertThat(known).isNotDone();
        respond(recheck, false);

        assertThat(known).isDone();
        assertThat(seen()).isEqualTo(Map.of(A, false, B, true));
        respond(earlier, true);
        pass(20);
        assertThat(seen()).isEqualTo(Map.of(A, false, B, true));
    }

    @Test
    void recheck_withoutAResult_endsAndChangesNothing() {
        round();
        CompletableFuture<Void> known = checker.recheck("a");
        server.last().reply.fail(new OipException(ErrorCode.UNAUTHENTICATED, "no key"));

        assertThat(known).isDone();
        assertThat(seen()).isEqualTo(Map.of(A, true, B, true));
        assertThat(checker.recheck("unknown")).isDone();
    }

    @Test
    void suspectedModel_isCheckedOnceASecond() {
        round();
        int before = server.requests.size();
        checker.suspect("a");
        checker.suspect("a");
        checker.suspect("b");
        assertThat(server.requests).hasSize(before + 2);
        pass(1_000);
        checker.suspect("a");
        assertThat(server.requests).hasSize(before + 3);
    }

    @Test
    void closedChecker_asksNoMore() {
        probe();
        checker.close();
        respond(server.last(), true);

        assertThat(server.requests).hasSize(1);
    }
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.fleet.Ejection.OutlierDetector;
import dev.isthmus.gateway.fleet.Replica.SlowStart;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ModelRef;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;

/** Servers without connections, a manual clock, and random choices from one seed. */
final class ReplicaFixture {
    /** Nothing runs on it. */
    private static final EventLoop LOOP = new EmbeddedChannel().eventLoop();

    static final ModelRef MODEL = ModelRef.of("m");
    static final Duration WINDOW = Duration.ofSeconds(10);

    final List<Replica> replicas = new ArrayList<>();
    final RandomGenerator random = new Random(20_261_121);
    private final Object lock = new Object();
    private final AtomicLong changes = new AtomicLong();
    private final Outliers rules;
    private final ReplicaSelection candidates;
    private long now = 1_000_000_007;

    ReplicaFixture(Outliers rules) {
        this.rules = rules;
        this.candidates = new ReplicaSelection(rules.panicThreshold(), random, changes);
    }

    static ReplicaFixture of(int servers) {
        ReplicaFixture pool = new ReplicaFixture(DefaultValues.of(Outliers.class));
        for (int i = 0; i < servers; i++) {
            pool.add("10.0.0." + (i + 1) + ":8001");
        }
        return pool;
    }

    Replica add(String label) {
        return add(label, SlowStart.full(WINDOW, now));
    }

    /** A server in a slow start of 10 s. */
    Replica join(String label) {
        return add(label, SlowStart.joining(WINDOW, now));
    }

    private Replica add(String label, SlowStart warmth) {
        Ejection ejection = new Ejection(rules, lock, this::room);
        Replica replica = new Replica(label, new FakeUpstream(), () -> now, ejection, warmth, null, changes);
        replicas.add(replica);
        changes.incrementAndGet();
        return replica;
    }

    /** Evaluates nothing by itself. */
    OutlierDetector detector(ErrorRate errorRate) {
        return new OutlierDetector(errorRate, () -> replicas);
    }

    private boolean room() {
        return Ejection.mayEject(replicas, rules, now);
    }

    long now() {
        return now;
    }

    void pass(Duration time) {
        now += time.toNanos();
    }

    static Call call(long affinity) {
        return new Call(new Operation.ServerReady(), Call.NO_DEADLINE, Map.of(), LOOP, UnpooledByteBufAllocator.DEFAULT)
                .withAffinity(affinity);
    }

    Replica pick(Balancer balancer, Call call, Collection<Replica> tried) {
        return balancer.choose(candidates(call, MODEL, tried), call, now);
    }

    List<Replica> candidates(Call call, ModelRef model, Collection<Replica> tried) {
        return candidates.of(replicas, call, model, tried, now, false);
    }

    /** How many of this many picks choose each server; no call is started. */
    Map<Replica, Integer> picks(BalancePolicy policy, int times) {
        Balancer balancer = Balancer.of(policy, random);
        Map<Replica, Integer> picks = new HashMap<>();
        replicas.forEach(replica -> picks.put(replica, 0));
        for (int i = 0; i < times; i++) {
            picks.merge(pick(balancer, call(Call.NO_AFFINITY), List.of()), 1, Integer::sum);
        }
        return picks;
    }

    /** A call that starts and ends at once. */
    static void call(Replica replica, CallOutcome outcome, Duration took) {
        replica.started();
        replica.ended(outcome, took.toNanos(), false);
    }

    static void fail(Replica replica, int times) {
        for (int i = 0; i < times; i++) {
            call(replica, CallOutcome.FAILED, Duration.ofMillis(1));
        }
    }
}

package dev.isthmus.bench.faults;

import dev.isthmus.bench.attack.Attack;
import dev.isthmus.bench.attack.Attacker;
import dev.isthmus.bench.attack.BadServer;
import dev.isthmus.bench.attack.Rest;
import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.ProcessFigures;
import dev.isthmus.bench.process.Scratch;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs attacks one after the other on one gateway, so that each meets the effects of the earlier ones. */
final class AttackRunner {
    private static final Duration LIMIT = Duration.ofMinutes(2);
    private static final List<String> ATTACKER_FLAGS =
            List.of("-XX:+UseSerialGC", "-Xmx768m", "-XX:TieredStopAtLevel=1");
    private static final int WARM_MILLIS = 4_000;
    private static final long BACK_MILLIS = 30_000;
    private static final long PERIOD_MILLIS = 100;
    private static final int AFTERWARDS = 20;
    private static final int MIB_OF_FLOATS = 1 << 18;

    private final Path home;
    private final EventLoop loop;
    private final boolean brief;
    private final int windowMillis;
    private final PrintWriter out;

    /**
     * Creates a runner.
     *
     * @param windowMillis duration of the bystander's measurement before each attack, and its minimum during the attack
     */
    AttackRunner(Path home, EventLoop loop, boolean brief, int windowMillis, PrintWriter out) {
        this.home = home;
        this.loop = loop;
        this.brief = brief;
        this.windowMillis = windowMillis;
        this.out = out;
    }

    /** Runs the attacks and prints their rows; returns false if a limit was missed. */
    boolean play(AttackedProxy defender, List<Attack> attacks) throws IOException, InterruptedException {
        boolean met = true;
        int next = 0;
        while (next < attacks.size()) {
            try (Scratch scratch = new Scratch();
                    Children children = new Children()) {
                AttackFleet fleet = new AttackFleet(children, scratch.folder());
                AttackFleet.Attacked attacked = fleet.start(defender, home);
                Child attacker = children.java(
                        "attacker",
                        ATTACKER_FLAGS,
                        System.getProperty("java.class.path"),
                        Attacker.class.getName(),
                        List.of());
                warm(attacked);
                double idle = attacked.process().residentMib();
                while (next < attacks.size() && attacked.process().alive()) {
                    AttackRow row = play(fleet, attacked, attacker, attacks.get(next++), idle);
                    out.print(row.line());
                    out.flush();
                    met &= row.met();
                }
            } catch (BenchException e) {
                out.print(AttackRow.unplayed(
                        defender, attacks.get(Math.max(0, next - 1)), String.valueOf(e.getMessage())));
                out.flush();
                return false;
            }
        }
        return met;
    }

    private void warm(AttackFleet.Attacked attacked) throws InterruptedException, BenchException, IOException {
        try (Bystander bystander = new Bystander(loop, attacked.port(), attacked.http2Port())) {
            bystander.run(WARM_MILLIS, () -> true);
            afterwards(attacked);
            Tally tally = bystander.run(1_000, () -> true);
            if (!tally.failures().isEmpty()) {
                throw new BenchException("requests failed before the first attack: " + tally.failuresByText());
            }
        }
    }

    private AttackRow play(AttackFleet fleet, AttackFleet.Attacked attacked, Child attacker, Attack attack, double idle)
            throws IOException, BenchException, InterruptedException {
        int twice = fleet.twice();
        attacker.tell(
                attack.name() + " " + attacked.port() + " " + attacked.http2Port() + (brief ? " brief" : " full"));
        attacker.await(Attacker.READY, LIMIT);
        ProcessFigures attacking = new ProcessFigures(attacker.pid());
        try (Bystander bystander = new Bystander(loop, attacked.port(), attacked.http2Port())) {
            Tally before = bystander.run(windowMillis, () -> true);
            double cpu = attacked.process().cpuSeconds();
            double attackerCpu = attacking.cpuSeconds();
            long start = System.nanoTime();
            FutureTask<Observed> observing = new FutureTask<>(() -> observe(attacked, attacker));
            Thread.ofPlatform().daemon().name("faults-observe").start(observing);
            Tally during = bystander.run(windowMillis, observing::isDone);
            double seconds = (System.nanoTime() - start) / 1e9;
            Observed observed = get(observing);
            cpu = attacked.process().cpuSeconds() - cpu;
            attackerCpu = attacking.cpuSeconds() - attackerCpu;
            Back back = settle(attacked, idle + AttackRow.BACK_MIB);
            String afterwards = attacked.process().alive() ? afterwards(attacked) : "the process ended";
            // The request that crashes servers is retried if that is configured, and so are those of the other clients
            // that are under way on the same connection.
            int again = attack.name().equals("poison") ? BadServer.CLIENTS : 0;
            boolean sound = attacked.live() && fleet.twice() - twice <= again && fleet.poisoned() <= 2;
            String servers = fleet.twice() - twice + " twice, " + fleet.poisoned() + " lost";
            return new AttackRow(
                    attacked.defender(),
                    attack.name(),
                    brief,
                    before,
                    during,
                    idle,
                    observed.peak(),
                    back,
                    seconds,
                    cpu,
                    attackerCpu,
                    observed.seen(),
                    afterwards,
                    sound,
                    attack.name().equals("poison") || fleet.twice() != twice ? servers : "",
                    limit(attacked));
        }
    }

    private static double limit(AttackFleet.Attacked attacked) {
        double bytes = attacked.defender().isthmus() ? attacked.metric("isthmus_memory_limit_bytes") : 0;
        return bytes / (1 << 20);
    }

    /** Observations of an attack: the attacker's line and the peak of resident memory in MiB. */
    private record Observed(String seen, double peak) {}

    private static Observed observe(AttackFleet.Attacked attacked, Child attacker) throws Exception {
        FutureTask<String> seen = new FutureTask<>(() -> {
            attacker.tell("go");
            return attacker.await(Attacker.SEEN, LIMIT);
        });
        Thread.ofPlatform().daemon().name("faults-attack").start(seen);
        double peak = 0;
        while (!seen.isDone()) {
            peak = Math.max(peak, attacked.process().residentMib());
            Thread.sleep(PERIOD_MILLIS);
        }
        return new Observed(seen.get(), Math.max(peak, attacked.process().residentMib()));
    }

    private static Observed get(FutureTask<Observed> observing) throws InterruptedException, BenchException {
        try {
            return observing.get();
        } catch (ExecutionException e) {
            throw new BenchException("the attack could not be run: " + e.getCause());
        }
    }

    /**
     * Recovery after an attack.
     *
     * @param millis until calls held no memory and the resident memory was back; -1 if not within 30 s
     * @param resident MiB
     * @param used bytes that calls still hold
     */
    record Back(long millis, double resident, double used) {}

    private static Back settle(AttackFleet.Attacked attacked, double resident) throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            double now = attacked.process().residentMib();
            double used = attacked.used();
            long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
            boolean back = used == 0 && now <= resident;
            if (back || millis > BACK_MILLIS || !attacked.process().alive()) {
                return new Back(back ? millis : -1, now, used);
            }
            Thread.sleep(PERIOD_MILLIS);
        }
    }

    /** The failure of requests on new connections; null if they succeed. */
    private static @Nullable String problem(AttackFleet.Attacked attacked) {
        try {
            String status = Rest.binary(attacked.port(), "m", MIB_OF_FLOATS);
            String health = attacked.defender().isthmus() ? Rest.get(attacked.port(), "/v2/health/live") : "200";
            return status.equals("200") && health.equals("200") ? null : status + "/" + health;
        } catch (IOException e) {
            return "reset";
        }
    }

    private static String afterwards(AttackFleet.Attacked attacked) {
        int served = 0;
        String last = "";
        for (int i = 0; i < AFTERWARDS; i++) {
            String problem = problem(attacked);
            served += problem == null ? 1 : 0;
            last = problem == null ? last : problem;
        }
        return served == AFTERWARDS ? "" : "afterwards " + served + " of " + AFTERWARDS + " served: " + last;
    }
}

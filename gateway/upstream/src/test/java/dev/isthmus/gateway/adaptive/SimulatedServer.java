package dev.isthmus.gateway.adaptive;

import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Random;

/** A server with a queue, behind an adaptive limit, with a virtual clock and random numbers of one seed. */
final class SimulatedServer {
    final AdaptiveLimit limit;
    /** What arrived while the limit was reached. */
    int refused;

    int served;

    private final Random random = new Random(20_261_126);
    private final Queue<Long> waiting = new ArrayDeque<>();
    /** When a worker is done, and when its call began. */
    private final PriorityQueue<Running> running =
            new PriorityQueue<>((one, other) -> Long.compare(one.end, other.end));

    private long now;
    private double nextArrival;
    private int workers;
    private Duration latency;

    private record Running(long end, long begun) {}

    SimulatedServer(AdaptiveConcurrency settings, int workers, Duration latency) {
        this.workers = workers;
        this.latency = latency;
        this.limit = new AdaptiveLimit(settings, () -> now, random);
    }

    void becomes(int otherWorkers, Duration otherLatency) {
        workers = otherWorkers;
        latency = otherLatency;
    }

    /** How many calls it can process in a second. */
    double capacity() {
        return workers * 1e9 / latency.toNanos();
    }

    /** Calls arrive at random times at this mean rate. */
    void receive(double perSecond, Duration time) {
        refused = 0;
        served = 0;
        long end = now + time.toNanos();
        nextArrival = now;
        while (true) {
            Running next = running.peek();
            boolean done = next != null && next.end <= nextArrival;
            long at = next != null && done ? next.end : (long) nextArrival;
            if (at > end) {
                now = end;
                return;
            }
            now = at;
            if (done) {
                Running call = running.remove();
                served++;
                limit.ended(call.begun, now - call.begun, true);
                work();
            } else {
                arrive();
                nextArrival += -Math.log(1 - random.nextDouble()) * 1e9 / perSecond;
            }
        }
    }

    private void arrive() {
        if (limit.room() == 0) {
            refused++;
            return;
        }
        limit.started();
        waiting.add(now);
        work();
    }

    private void work() {
        while (running.size() < workers && !waiting.isEmpty()) {
            double jitter = 0.9 + 0.2 * random.nextDouble();
            running.add(new Running(now + (long) (latency.toNanos() * jitter), waiting.remove()));
        }
    }
}

package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SecretText;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * The gateway's resources that a cluster uses.
 *
 * @param loop the event loop that probes the servers
 * @param allocator for probe requests
 * @param nanoTime on the scale of {@link System#nanoTime()}
 * @param random thread-safe
 * @param modelChecks limits the checks of models
 * @param drained the servers that operators have taken out of service
 * @param ending whether the gateway is shutting down
 */
public record ClusterResources(
        EventLoop loop,
        ByteBufAllocator allocator,
        MeterRegistry meters,
        LongSupplier nanoTime,
        RandomGenerator random,
        Discovery discovery,
        QueueDepthSource pending,
        CheckPace modelChecks,
        DrainedServers drained,
        BooleanSupplier ending) {

    public ClusterResources withPending(QueueDepthSource other) {
        return new ClusterResources(
                loop, allocator, meters, nanoTime, random, discovery, other, modelChecks, drained, ending);
    }

    public ClusterResources withDiscovery(Discovery other) {
        return new ClusterResources(
                loop, allocator, meters, nanoTime, random, other, pending, modelChecks, drained, ending);
    }

    /** With the system clock and unseeded random numbers. */
    public static ClusterResources real(
            EventLoop loop,
            ByteBufAllocator allocator,
            MeterRegistry meters,
            Discovery discovery,
            QueueDepthSource pending,
            BooleanSupplier ending) {
        return new ClusterResources(
                loop,
                allocator,
                meters,
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextLong(),
                discovery,
                pending,
                new CheckPace(loop, System::nanoTime),
                new DrainedServers(System::nanoTime),
                ending);
    }

    /**
     * Limits how many checks of models a gateway sends per second to all servers together. Checks beyond it wait for their
     * turn, in the order in which they were submitted. Used on one event loop.
     */
    public static final class CheckPace {
        /** Checks may run this much earlier than evenly spaced ones. */
        private static final long BURST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
        /** Turns are at multiples of this time, so that the event loop wakes up once for several of them. */
        private static final long GRAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

        private final EventLoop loop;
        private final LongSupplier nanoTime;
        private volatile long spacingNanos;
        private long turn;

        /** Starts without a limit. */
        CheckPace(EventLoop loop, LongSupplier nanoTime) {
            this.loop = loop;
            this.nanoTime = nanoTime;
            this.turn = nanoTime.getAsLong();
        }

        /** Sets the limit, on any thread. */
        public void perSecond(int checks) {
            spacingNanos = TimeUnit.SECONDS.toNanos(1) / checks;
        }

        /**
         * Runs a task with this many checks on the loop when it is its turn; never before this returns.
         *
         * @throws RejectedExecutionException if the loop is shutting down
         */
        void submit(int checks, Runnable task) {
            long now = nanoTime.getAsLong();
            turn = Math.max(turn - now, -BURST_NANOS) + now + checks * spacingNanos;
            if (turn - now <= 0) {
                loop.execute(task);
            } else {
                long at = Math.ceilDiv(turn, GRAIN_NANOS) * GRAIN_NANOS;
                loop.schedule(task, at - now, TimeUnit.NANOSECONDS);
            }
        }
    }

    /** Reads how many requests are queued in a server. */
    @FunctionalInterface
    public interface QueueDepthSource {
        /** The queue depth could not be read. */
        long UNKNOWN = -1;

        /**
         * Reads the queue depth once.
         *
         * @param metrics address of the server's metrics endpoint, never a host name
         * @param authority host and port of the server, whose host may be a name
         * @param headers to send, by lower-case name
         * @param callback called exactly once, within a bounded time
         */
        void read(Endpoint metrics, String authority, Map<String, SecretText> headers, LongConsumer callback);
    }
}

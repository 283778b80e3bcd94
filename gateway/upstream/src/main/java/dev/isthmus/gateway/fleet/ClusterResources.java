package dev.isthmus.gateway.fleet;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
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
        BooleanSupplier ending) {

    /** The same with another source of queue depths. */
    public ClusterResources withPending(QueueDepthSource other) {
        return new ClusterResources(loop, allocator, meters, nanoTime, random, discovery, other, modelChecks, ending);
    }

    /** The same with another discovery. */
    public ClusterResources withDiscovery(Discovery other) {
        return new ClusterResources(loop, allocator, meters, nanoTime, random, other, pending, modelChecks, ending);
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
                ending);
    }
}

package dev.isthmus.gateway.fleet;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * What a set of servers needs of the gateway around it.
 *
 * @param loop an event loop, on which servers are asked how they are
 * @param allocator of the questions
 * @param nanoTime the scale of {@link System#nanoTime()}
 * @param random used by all event loops
 * @param ending whether the gateway is being stopped
 */
public record ClusterResources(
        EventLoop loop,
        ByteBufAllocator allocator,
        MeterRegistry meters,
        LongSupplier nanoTime,
        RandomGenerator random,
        Discovery discovery,
        QueueDepthSource pending,
        BooleanSupplier ending) {

    /** Real time, and random numbers that need no seed. */
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
                ending);
    }
}

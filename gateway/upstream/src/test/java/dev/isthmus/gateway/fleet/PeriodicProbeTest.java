package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.ClusterResources.CheckPace;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PeriodicProbeTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ClusterResources resources = new ClusterResources(
            channel.eventLoop(),
            UnpooledByteBufAllocator.DEFAULT,
            new SimpleMeterRegistry(),
            System::nanoTime,
            new Random(1),
            (addresses, refresh, listener) -> {
                throw new AssertionError("no names are looked up");
            },
            (metrics, authority, headers, response) -> {
                throw new AssertionError("no queues are looked at");
            },
            new CheckPace(channel.eventLoop(), System::nanoTime),
            new DrainedServers(System::nanoTime),
            () -> false);

    private void pass(Duration time) {
        channel.advanceTimeBy(time.toMillis(), TimeUnit.MILLISECONDS);
        channel.runPendingTasks();
    }

    @Test
    void probeThatFails_isRepeated() {
        channel.freezeTime();
        AtomicInteger probes = new AtomicInteger();
        try (var probe = new PeriodicProbe(Duration.ofSeconds(1), resources, started -> {
            probes.incrementAndGet();
            throw new IllegalStateException("a fault of the probe");
        })) {
            probe.start();
            pass(Duration.ofMillis(50));
            assertThat(probes).hasValue(1);
            pass(Duration.ofMillis(1_200));
            assertThat(probes).hasValue(2);
        }
        channel.finishAndReleaseAll();
    }
}

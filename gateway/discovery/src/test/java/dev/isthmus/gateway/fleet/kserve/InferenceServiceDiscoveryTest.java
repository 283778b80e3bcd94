package dev.isthmus.gateway.fleet.kserve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.ConfigLoader;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** On a scheduler whose clock the test advances, without an API server. */
class InferenceServiceDiscoveryTest {
    private final EmbeddedChannel scheduler = new EmbeddedChannel();

    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            scheduler.advanceTimeBy(1, TimeUnit.SECONDS);
            scheduler.runPendingTasks();
        }
    }

    @Test
    void faultInALookAtTheServers_isNotTheLastLook() throws Exception {
        scheduler.freezeTime();
        AtomicInteger looks = new AtomicInteger();
        AtomicInteger applied = new AtomicInteger();
        try (var discovery = new InferenceServiceDiscovery(scheduler.eventLoop(), applied::incrementAndGet, () -> {
            if (looks.getAndIncrement() == 0) {
                throw new IllegalStateException("a fault of the catalogue");
            }
            return Map.of("ml/iris", Set.of("iris"));
        })) {
            discovery.inEffect(
                    ConfigLoader.parse("isthmus.yaml", "discover: {kserve: [{namespace: ml}]}", Path.of(".")));
            discovery.start();
            pass(1);
            assertThat(looks).hasValue(1);
            assertThat(applied).hasValue(1);
            // A second between two applications is one of the system's clock, and has not passed.
            pass(3);
            assertThat(applied.get()).isGreaterThan(1);
        }
        scheduler.finishAndReleaseAll();
    }
}

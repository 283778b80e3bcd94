package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class MeterIndexTest {
    private final MeterRegistry registry = new SimpleMeterRegistry();

    private Counter counter(String name, String model) {
        return Counter.builder(name).tag("model", model).register(registry);
    }

    private static List<Meter> all(MeterIndex index) {
        List<Meter> all = new ArrayList<>();
        index.forEach(all::add);
        return all;
    }

    @Test
    void metersOfTheNames_areFound_whenTheyWereAddedAndNotRemoved() {
        Counter before = counter("one", "a");
        counter("other", "a");
        MeterIndex index = new MeterIndex(registry, Set.of("one", "two"));
        Counter after = counter("two", "a");
        counter("other", "b");
        assertThat(all(index)).containsExactlyInAnyOrder(before, after);
        registry.remove(before);
        assertThat(all(index)).containsExactly(after);
        Counter later = counter("one", "b");
        assertThat(all(index)).containsExactlyInAnyOrder(after, later);
    }

    /** A gateway without an admin address has an index that nobody reads. */
    @Test
    void registry_isFollowed_onlyWhenSomebodyReads() {
        List<Consumer<Meter>> listeners = new ArrayList<>();
        MeterRegistry watched = new SimpleMeterRegistry() {
            private final Config config = new Config() {
                @Override
                public Config onMeterAdded(Consumer<Meter> listener) {
                    listeners.add(listener);
                    return super.onMeterAdded(listener);
                }
            };

            @Override
            public Config config() {
                return config;
            }
        };
        MeterIndex index = new MeterIndex(watched, Set.of("one"));
        assertThat(listeners).isEmpty();
        all(index);
        all(index);
        assertThat(listeners).hasSize(1);
    }

    @Test
    void meterThatIsReplaced_isTheNewOne() {
        MeterIndex index = new MeterIndex(registry, Set.of("one"));
        Counter old = counter("one", "a");
        assertThat(all(index)).containsExactly(old);
        registry.remove(old);
        Counter replaced = counter("one", "a");
        assertThat(all(index)).singleElement().isSameAs(replaced);
    }
}

package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

class OwnMetersTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final OwnMeters older = new OwnMeters(registry);
    private final OwnMeters newer = new OwnMeters(registry);

    private static Counter calls(OwnMeters owner) {
        return owner.add(registry -> registry.counter("calls"));
    }

    @Test
    void meterOfTheSameOwner_isAddedOnce() {
        Counter first = calls(older);
        assertThat(calls(older)).isSameAs(first);
        assertThat(registry.getMeters()).containsExactly(first);
    }

    @Test
    void meterOfAnotherOwner_isReplaced() {
        Counter before = calls(older);
        Counter after = calls(newer);
        assertThat(after).isNotSameAs(before);
        assertThat(registry.getMeters()).singleElement().isSameAs(after);
    }

    @Test
    void close_leavesWhatANewerOwnerShows() {
        calls(older);
        Counter shown = calls(newer);
        older.add(registry -> registry.counter("gone"));
        older.close();
        assertThat(registry.getMeters()).singleElement().isSameAs(shown);
        newer.close();
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void meterOfAnOwnerThatIsClosed_isNotShown() {
        older.close();
        calls(older).increment();
        assertThat(registry.getMeters()).isEmpty();
    }
}

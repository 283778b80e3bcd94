package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class ReplaceableMetersTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final ReplaceableMeters older = new ReplaceableMeters(registry);
    private final ReplaceableMeters newer = new ReplaceableMeters(registry);

    private static Counter calls(ReplaceableMeters owner) {
        return owner.add(registry -> registry.counter("calls"));
    }

    @Test
    void meterOfTheSameOwner_isAddedOnce() {
        Counter first = calls(older);
        assertThat(calls(older)).isSameAs(first);
        assertThat(registry.getMeters()).containsExactly(first);
    }

    @Test
    void counterOfAnotherOwner_goesOnCounting() {
        calls(older).increment();
        calls(newer).increment();
        newer.close();
        calls(older).increment();
        assertThat(registry.get("calls").counter().count()).isEqualTo(3);
    }

    /** A reload that is rejected closes what it has made; of two listeners with one certificate one may be removed. */
    @Test
    void close_showsAgainWhatTheNewestOwnerThatIsLeftReads() {
        ReplaceableMeters third = new ReplaceableMeters(registry);
        older.add(Gauge.builder("state", () -> 1)::register);
        newer.add(Gauge.builder("state", () -> 2)::register);
        third.add(Gauge.builder("state", () -> 3)::register);
        newer.close();
        assertThat(registry.get("state").gauge().value()).isEqualTo(3);
        third.close();
        assertThat(registry.get("state").gauge().value()).isEqualTo(1);
        older.close();
        assertThat(registry.getMeters()).isEmpty();
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

    @Test
    void gaugeOfAnotherOwner_isReplacedWithoutAWarning() {
        Logger log = (Logger) LoggerFactory.getLogger(MeterRegistry.class);
        ListAppender<ILoggingEvent> logged = new ListAppender<>();
        logged.start();
        log.addAppender(logged);
        try {
            older.add(Gauge.builder("state", () -> 1)::register);
            Gauge shown = newer.add(Gauge.builder("state", () -> 2)::register);
            assertThat(registry.getMeters()).singleElement().isSameAs(shown);
            assertThat(shown.value()).isEqualTo(2);
            assertThat(logged.list).isEmpty();
        } finally {
            log.detachAppender(logged);
        }
    }
}

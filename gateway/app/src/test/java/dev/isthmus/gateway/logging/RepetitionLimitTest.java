package dev.isthmus.gateway.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.LoggingEvent;
import dev.isthmus.gateway.logging.ProcessLogAppender.RepetitionLimit;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.event.KeyValuePair;

class RepetitionLimitTest {
    private static final String OURS = "dev.isthmus.gateway.fleet.Replica";
    private long now = Long.MAX_VALUE - 5;
    private final RepetitionLimit limit = new RepetitionLimit(() -> now);

    private static LoggingEvent event(String logger, Level level, String template, KeyValuePair... members) {
        LoggingEvent event = new LoggingEvent();
        event.setLoggerName(logger);
        event.setLevel(level);
        event.setMessage(template);
        event.setKeyValuePairs(List.of(members));
        return event;
    }

    private static LoggingEvent repeating(String template, KeyValuePair... members) {
        LoggingEvent event = event(OURS, Level.WARN, template, members);
        event.addMarker(RepeatingLogEvent.MARKER);
        return event;
    }

    private void seconds(long seconds) {
        now += TimeUnit.SECONDS.toNanos(seconds);
    }

    @Test
    void events_thatDoNotRepeat_areAllWritten() {
        for (int i = 0; i < 5; i++) {
            assertThat(limit.admits(event(OURS, Level.ERROR, "x"))).isTrue();
        }
        assertThat(limit.rest()).isEmpty();
    }

    @Test
    void repeated_theFirstIsWritten_thenTheLastOfEachMinuteWithItsCount() {
        LoggingEvent last = repeating("x");
        assertThat(limit.admits(repeating("x"))).isTrue();
        assertThat(limit.admits(repeating("x"))).isFalse();
        assertThat(limit.admits(last)).isFalse();
        seconds(59);
        assertThat(limit.due()).isEmpty();
        seconds(1);
        assertThat(limit.due()).containsExactly(new LogLine(last, 2));
        assertThat(limit.admits(last)).isFalse();
        seconds(30);
        assertThat(limit.due()).isEmpty();
        seconds(30);
        assertThat(limit.due()).containsExactly(new LogLine(last, 1));
        seconds(60);
        assertThat(limit.due()).isEmpty();
        assertThat(limit.admits(last)).isTrue();
    }

    @Test
    void events_aboutOtherThings_areToldApart() {
        assertThat(limit.admits(repeating("x", new KeyValuePair("server", "a"))))
                .isTrue();
        assertThat(limit.admits(repeating("x", new KeyValuePair("server", "b"))))
                .isTrue();
        assertThat(limit.admits(repeating("y", new KeyValuePair("server", "a"))))
                .isTrue();
        assertThat(limit.admits(repeating("x", new KeyValuePair("code", "a")))).isTrue();
        assertThat(limit.admits(repeating("x", new KeyValuePair("server", "a"), new KeyValuePair("peer", 1))))
                .isFalse();
        assertThat(limit.admits(repeating("x", new KeyValuePair("server", "a"), new KeyValuePair("peer", 2))))
                .isFalse();
    }

    @Test
    void warningsOfLibraries_areLimited() {
        assertThat(limit.admits(event("io.netty.X", Level.WARN, "x"))).isTrue();
        assertThat(limit.admits(event("io.netty.X", Level.WARN, "x"))).isFalse();
        assertThat(limit.admits(event("io.netty.X", Level.INFO, "x"))).isTrue();
        assertThat(limit.admits(event("io.netty.X", Level.INFO, "x"))).isTrue();
    }

    @Test
    void rest_isWrittenAtTheEnd() {
        limit.admits(repeating("x"));
        LoggingEvent last = repeating("x");
        limit.admits(last);
        assertThat(limit.rest()).containsExactly(new LogLine(last, 1));
        assertThat(limit.rest()).isEmpty();
        assertThat(limit.admits(last)).isFalse();
    }

    @Test
    void subjectsOfOneMessage_areBounded_andLeaveRoomForOthers() {
        for (int round = 0; round < 3; round++) {
            int written = 0;
            for (int i = 0; i < 5000; i++) {
                written += limit.admits(repeating("x", new KeyValuePair("model", round + "-" + i))) ? 1 : 0;
            }
            assertThat(written).isEqualTo(RepetitionLimit.MAX_SUBJECTS + 1);
            assertThat(limit.admits(repeating("y" + round, new KeyValuePair("model", "a"))))
                    .isTrue();
            seconds(61);
            assertThat(limit.due())
                    .singleElement()
                    .satisfies(line -> assertThat(line.repeated()).isEqualTo(5000 - 1 - RepetitionLimit.MAX_SUBJECTS));
            seconds(61);
            assertThat(limit.due()).isEmpty();
        }
    }

    @Test
    void kinds_areBounded() {
        for (int i = 0; i < RepetitionLimit.MAX_KINDS; i++) {
            assertThat(limit.admits(repeating("x" + i))).isTrue();
        }
        int written = 0;
        for (int i = 0; i < 1000; i++) {
            written += limit.admits(repeating("y" + i)) ? 1 : 0;
        }
        assertThat(written).isEqualTo(1);
        seconds(61);
        assertThat(limit.due())
                .singleElement()
                .satisfies(line -> assertThat(line.repeated()).isEqualTo(999));
        assertThat(limit.admits(repeating("z"))).isTrue();
        assertThat(limit.admits(repeating("zz"))).isTrue();
    }
}

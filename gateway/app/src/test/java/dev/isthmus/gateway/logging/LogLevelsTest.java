package dev.isthmus.gateway.logging;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.logging.ProcessLog.LogLevels;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.LoggingConfig;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LogLevelsTest {
    private final Map<LogArea, LogLevel> effective = new EnumMap<>(LogArea.class);
    private Instant now = Instant.EPOCH;
    private final LogLevels levels = new LogLevels(() -> now, effective::put);

    private static LoggingConfig config(LogLevel level, Map<String, LogLevel> areas) {
        return new LoggingConfig(LogFormat.TEXT, level, areas);
    }

    @Test
    void configuration_holdsForAllAreas_butLibrariesStayQuiet() {
        levels.configure(config(LogLevel.DEBUG, Map.of("tls", LogLevel.ERROR)));
        assertThat(effective)
                .hasSize(LogArea.values().length)
                .containsEntry(LogArea.TLS, LogLevel.ERROR)
                .containsEntry(LogArea.FLEET, LogLevel.DEBUG)
                .containsEntry(LogArea.LIBRARIES, LogLevel.INFO);
        levels.configure(config(LogLevel.WARN, Map.of("libraries", LogLevel.DEBUG)));
        assertThat(effective)
                .containsEntry(LogArea.TLS, LogLevel.WARN)
                .containsEntry(LogArea.LIBRARIES, LogLevel.DEBUG);
    }

    @Test
    void temporaryLevel_endsByItself_withTheLevelThatIsConfiguredThen() {
        levels.configure(LoggingConfig.DEFAULT);
        levels.set(List.of(LogArea.FLEET), LogLevel.DEBUG, Duration.ofMinutes(10));
        assertThat(effective).containsEntry(LogArea.FLEET, LogLevel.DEBUG).containsEntry(LogArea.TLS, LogLevel.INFO);
        levels.configure(config(LogLevel.WARN, Map.of()));
        assertThat(effective).containsEntry(LogArea.FLEET, LogLevel.DEBUG).containsEntry(LogArea.TLS, LogLevel.WARN);
        now = now.plus(Duration.ofMinutes(10)).minusMillis(1);
        assertThat(levels.expire()).isEmpty();
        assertThat(levels.all())
                .filteredOn(each -> each.until() != null)
                .singleElement()
                .isEqualTo(new LogLevels.AreaLevel(
                        LogArea.FLEET, LogLevel.DEBUG, LogLevel.WARN, Instant.EPOCH.plus(Duration.ofMinutes(10))));
        now = now.plusMillis(1);
        assertThat(levels.expire()).containsExactly(LogArea.FLEET);
        assertThat(effective).containsEntry(LogArea.FLEET, LogLevel.WARN);
        assertThat(levels.expire()).isEmpty();
    }

    @Test
    void temporaryLevel_isReplacedAndReset() {
        levels.configure(LoggingConfig.DEFAULT);
        levels.set(List.of(LogArea.FLEET), LogLevel.DEBUG, Duration.ofMinutes(1));
        levels.set(List.of(LogArea.FLEET), LogLevel.ERROR, Duration.ofMinutes(9));
        now = now.plus(Duration.ofMinutes(2));
        assertThat(levels.expire()).isEmpty();
        assertThat(effective).containsEntry(LogArea.FLEET, LogLevel.ERROR);
        levels.reset(List.of(LogArea.FLEET));
        assertThat(effective).containsEntry(LogArea.FLEET, LogLevel.INFO);
    }
}

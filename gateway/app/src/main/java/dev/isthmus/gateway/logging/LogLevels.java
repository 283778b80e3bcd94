package dev.isthmus.gateway.logging;

import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.LoggingConfig;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The level of each area: as configured, or for a time as an operator has set it. Thread-safe. */
final class LogLevels {
    private final InstantSource clock;
    private final BiConsumer<LogArea, LogLevel> apply;
    // Guarded by this.
    private LoggingConfig config = LoggingConfig.DEFAULT;
    private final Map<LogArea, TemporaryLevel> temporary = new EnumMap<>(LogArea.class);
    private final Map<LogArea, LogLevel> applied = new EnumMap<>(LogArea.class);

    /** A level that ends. */
    record TemporaryLevel(LogLevel level, Instant until) {}

    /**
     * The level of an area.
     *
     * @param until when it becomes the configured one; null if it is
     */
    record AreaLevel(
            LogArea area,
            LogLevel level,
            LogLevel configured,
            @Nullable Instant until) {}

    /** @param apply makes a level effective; called when one changes */
    LogLevels(InstantSource clock, BiConsumer<LogArea, LogLevel> apply) {
        this.clock = clock;
        this.apply = apply;
    }

    /** Sets the configured levels; temporary ones stay. */
    synchronized void configure(LoggingConfig next) {
        config = next;
        applyAll();
    }

    /** Sets the level of areas for a time. */
    synchronized void set(List<LogArea> areas, LogLevel level, Duration time) {
        Instant until = clock.instant().plus(time);
        areas.forEach(area -> temporary.put(area, new TemporaryLevel(level, until)));
        applyAll();
    }

    /** Makes the configured levels of areas effective again. */
    synchronized void reset(List<LogArea> areas) {
        areas.forEach(temporary::remove);
        applyAll();
    }

    /** Ends the levels whose time is over; returns their areas. */
    synchronized List<LogArea> expire() {
        if (temporary.isEmpty()) {
            return List.of();
        }
        Instant now = clock.instant();
        List<LogArea> expired = new ArrayList<>();
        temporary.forEach((area, level) -> {
            if (!now.isBefore(level.until())) {
                expired.add(area);
            }
        });
        if (!expired.isEmpty()) {
            reset(expired);
        }
        return expired;
    }

    /** The levels of all areas. */
    synchronized List<AreaLevel> all() {
        List<AreaLevel> levels = new ArrayList<>();
        for (LogArea area : LogArea.values()) {
            TemporaryLevel own = temporary.get(area);
            LogLevel configured = config.level(area);
            levels.add(new AreaLevel(
                    area, own == null ? configured : own.level(), configured, own == null ? null : own.until()));
        }
        return levels;
    }

    private void applyAll() {
        for (AreaLevel each : all()) {
            if (applied.put(each.area(), each.level()) != each.level()) {
                apply.accept(each.area(), each.level());
            }
        }
    }
}

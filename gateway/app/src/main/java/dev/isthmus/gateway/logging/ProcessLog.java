package dev.isthmus.gateway.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.logging.ProcessLog.LogLevels.AreaLevel;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.LoggingConfig;
import dev.isthmus.gateway.settings.Units;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The log of the process: its format and levels. Thread-safe. */
public final class ProcessLog {
    private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(1);
    private static final String APPENDER = "process";

    private final LoggerContext loggers;
    private final ProcessLogAppender appender;
    private final LogLevels levels;
    private final Logger own;

    private ProcessLog(LoggerContext loggers, ProcessLogAppender appender, InstantSource clock) {
        this.loggers = loggers;
        this.appender = appender;
        this.levels = new LogLevels(clock, this::apply);
        this.own = loggers.getLogger(ProcessLog.class);
        appender.everyTick(this::expire);
    }

    /** The log as it is packaged; empty in a process that logs in another way. */
    public static Optional<ProcessLog> ofProcess() {
        ILoggerFactory factory = LoggerFactory.getILoggerFactory();
        return factory instanceof LoggerContext loggers ? of(loggers, InstantSource.system()) : Optional.empty();
    }

    static Optional<ProcessLog> of(LoggerContext loggers, InstantSource clock) {
        return loggers.getLogger(Logger.ROOT_LOGGER_NAME).getAppender(APPENDER) instanceof ProcessLogAppender appender
                ? Optional.of(appender.log(() -> new ProcessLog(loggers, appender, clock)))
                : Optional.empty();
    }

    /** Makes a configuration effective; levels that were set for a time stay. */
    public void configure(LoggingConfig config) {
        appender.format(config.format());
        levels.configure(config);
    }

    public void set(List<LogArea> areas, LogLevel level, Duration time) {
        levels.set(areas, level, time);
        own.info("log level of {} is {} for {}", labels(areas), text(level), Units.written(time));
    }

    /** Makes the configured levels of areas effective again. */
    public void reset(List<LogArea> areas) {
        levels.reset(areas);
        own.info("log level of {} is as configured", labels(areas));
    }

    private void expire() {
        List<LogArea> expired = levels.expire();
        if (!expired.isEmpty()) {
            own.info("log level of {} is as configured again", labels(expired));
        }
    }

    /** Format and levels, for operators. */
    public Map<String, Object> document() {
        Map<String, Object> areas = new LinkedHashMap<>();
        for (AreaLevel each : levels.all()) {
            Map<String, Object> area = new LinkedHashMap<>();
            area.put("level", text(each.level()));
            if (each.until() != null) {
                area.put("until", each.until().toString());
                area.put("configured", text(each.configured()));
            }
            areas.put(each.area().label(), area);
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("format", text(appender.format()));
        document.put("loggers", areas);
        return document;
    }

    /** The levels of areas in words: "info", or each area with its own if they differ. */
    String levels(List<LogArea> areas) {
        List<AreaLevel> found = levels.all().stream()
                .filter(each -> areas.contains(each.area()))
                .toList();
        return found.stream().map(AreaLevel::level).distinct().count() == 1
                ? text(found.getFirst().level())
                : found.stream()
                        .map(each -> each.area().label() + " " + text(each.level()))
                        .collect(Collectors.joining(", "));
    }

    /** Writes all lines that wait. Blocks, for at most a second. */
    public void flush() {
        appender.flush(FLUSH_TIMEOUT);
    }

    private void apply(LogArea area, LogLevel level) {
        for (String prefix : area.prefixes()) {
            String name = prefix.isEmpty() ? Logger.ROOT_LOGGER_NAME : prefix;
            loggers.getLogger(name).setLevel(Objects.requireNonNull(Level.toLevel(level.name())));
        }
    }

    private static String labels(List<LogArea> areas) {
        return areas.equals(LogArea.own())
                ? "the gateway"
                : String.join(", ", areas.stream().map(LogArea::label).toList());
    }

    private static String text(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    /** The level of each area: as configured, or for a time as an operator has set it. Thread-safe. */
    static final class LogLevels {
        private final InstantSource clock;
        private final BiConsumer<LogArea, LogLevel> apply;
        // Guarded by this.
        private LoggingConfig config = LoggingConfig.DEFAULT;
        private final Map<LogArea, TemporaryLevel> temporary = new EnumMap<>(LogArea.class);
        private final Map<LogArea, LogLevel> applied = new EnumMap<>(LogArea.class);

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

        synchronized void configure(LoggingConfig next) {
            config = next;
            applyAll();
        }

        synchronized void set(List<LogArea> areas, LogLevel level, Duration time) {
            Instant until = clock.instant().plus(time);
            areas.forEach(area -> temporary.put(area, new TemporaryLevel(level, until)));
            applyAll();
        }

        synchronized void reset(List<LogArea> areas) {
            areas.forEach(temporary::remove);
            applyAll();
        }

        /** Ends the levels whose time is over; returns their areas. */
        synchronized List<LogArea> expire() {
            Instant now = clock.instant();
            List<LogArea> expired = new ArrayList<>(temporary.keySet());
            expired.removeIf(area ->
                    now.isBefore(Objects.requireNonNull(temporary.get(area)).until()));
            if (!expired.isEmpty()) {
                reset(expired);
            }
            return expired;
        }

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

    /** The routes of the admin listener that show and change log levels. */
    public record LoggingPages(ProcessLog log) {
        private static final String DEFAULT = "default";
        private static final Duration MAX_TIME = Duration.ofDays(1);

        public void addTo(AdminRoutes routes) {
            routes.route("GET", "/logging", this::show)
                    .change("POST", "/logging", RouteAccess.OPERATE, "log level", this::set);
        }

        private AdminResponse show(AdminRequest request) {
            AdminQuery.of(request);
            return AdminResponse.json(200, log.document());
        }

        private AdminResponse set(AdminRequest request) {
            AdminQuery query = AdminQuery.of(request, "level", "logger", "for");
            List<LogArea> areas = areas(query.text("logger", ""));
            String word = query.oneOf("level", "", "error", "warn", "info", "debug", DEFAULT);
            LogLevel level = word.equals(DEFAULT) ? null : LogLevel.valueOf(word.toUpperCase(Locale.ROOT));
            Duration time = time(query.text("for", "10m"));
            String before = log.levels(areas);
            if (level == null) {
                log.reset(areas);
            } else {
                log.set(areas, level, time);
            }
            String after = log.levels(areas) + (level == null ? "" : ", for " + Units.written(time));
            return AdminResponse.json(200, log.document())
                    .changed(AuditedChange.done("log level", query.text("logger", "all areas"), before, after));
        }

        /** All areas of the gateway itself without a name: libraries would drown them. */
        private static List<LogArea> areas(String name) {
            if (name.isEmpty()) {
                return LogArea.own();
            }
            LogArea area = LogArea.named(name);
            if (area == null) {
                throw AdminQuery.invalid("logger", "one of " + LogArea.labels(), name);
            }
            return List.of(area);
        }

        private static Duration time(String text) {
            Duration time = Units.duration(text);
            if (time == null || time.compareTo(MAX_TIME) > 0) {
                throw AdminQuery.invalid("for", "a duration such as 30s or 10m, of at most 24h,", text);
            }
            return time;
        }
    }
}

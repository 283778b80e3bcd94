package dev.isthmus.gateway.logging;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.Units;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

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
        LogLevel level = level(query.text("level", ""));
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

    private static @Nullable LogLevel level(String text) {
        return switch (text) {
            case "error", "warn", "info", "debug" -> LogLevel.valueOf(text.toUpperCase(Locale.ROOT));
            case DEFAULT -> null;
            default -> throw AdminQuery.invalid("level", "one of error, warn, info, debug, " + DEFAULT, text);
        };
    }

    private static Duration time(String text) {
        Duration time = Units.duration(text);
        if (time == null || time.compareTo(MAX_TIME) > 0) {
            throw AdminQuery.invalid("for", "a duration such as 30s or 10m, of at most 24h,", text);
        }
        return time;
    }
}

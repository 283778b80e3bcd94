package dev.isthmus.gateway.settings;

import java.util.Map;
import java.util.TreeSet;

@Doc("Log of the process, on standard error.")
public record LoggingConfig(
        @Doc("text: lines for people. json: an object on each line.") @Default("text")
        LogFormat format,

        @Doc("The least severity that is written.") @Default("info")
        LogLevel level,

        @Doc(
                "The same for single areas: access, admin, audit, calls, catalogue, clients, fleet, gateway, libraries, local, "
                        + "ramps, shadows, tls. 'libraries' is never below info unless it is given here.")
        Map<String, LogLevel> levels)
        implements CheckedSection {
    public static final LoggingConfig DEFAULT = DefaultValues.of(LoggingConfig.class);

    /** The form of lines. */
    public enum LogFormat {
        TEXT,
        JSON
    }

    @Override
    public void check(SectionCheck check) {
        new TreeSet<>(levels.keySet())
                .forEach(area -> check.expect(
                        LogArea.named(area) != null, "levels", "one of " + LogArea.labels() + " is expected", area));
    }

    public LogLevel level(LogArea area) {
        LogLevel own = levels.get(area.label());
        if (own != null) {
            return own;
        }
        return area == LogArea.LIBRARIES && level == LogLevel.DEBUG ? LogLevel.INFO : level;
    }
}

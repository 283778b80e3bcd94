package dev.isthmus.gateway.console;

import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.console.ConsolePages.RunningConfiguration;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigKeys;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What the page Configuration shows, and the comparison of a text with what runs, which changes nothing. */
public final class ConfigurationPage {
    private static final String PASTED = "text";
    /** FILE:LINE:COLUMN: MESSAGE. */
    private static final Pattern PLACE = Pattern.compile("(.*?):(\\d{1,9}):(\\d{1,9}): (.*)", Pattern.DOTALL);

    private final Supplier<RunningConfiguration> running;
    private final Supplier<GatewayConfig> written;
    private final ConfigSource source;
    private final Supplier<@Nullable LastReload> applied;
    private final Supplier<@Nullable LastReload> rejected;

    /**
     * @param written the configuration in effect, without what is discovered
     * @param source of the configuration; null if it has none
     * @param applied the last reload that was applied; null if there was none
     * @param rejected the last reload that was rejected; null if there was none
     */
    public ConfigurationPage(
            Supplier<RunningConfiguration> running,
            Supplier<GatewayConfig> written,
            @Nullable ConfigSource source,
            Supplier<@Nullable LastReload> applied,
            Supplier<@Nullable LastReload> rejected) {
        this.running = running;
        this.written = written;
        this.source = source == null ? written::get : source;
        this.applied = applied;
        this.rejected = rejected;
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/console/configuration", request -> show())
                .route("POST", "/console/configuration/compare", this::compare);
    }

    private AdminResponse show() {
        RunningConfiguration now = running.get();
        ConfigKeys keys = source.keys();
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("generation", now.generation());
        document.put("from_file", !keys.paths().isEmpty());
        document.put("lines", ConfigurationLines.of(now.config().document(), keys));
        document.put("applied", applied(applied.get()));
        document.put("rejected", rejected(rejected.get()));
        return AdminResponse.json(200, document);
    }

    private static @Nullable Object applied(@Nullable LastReload reload) {
        return reload != null && reload.result() instanceof ReloadResult.Applied result
                ? Map.of(
                        "time",
                        reload.time().toString(),
                        "changes",
                        withoutSecrets(result.changes()),
                        "warnings",
                        result.warnings())
                : null;
    }

    private static @Nullable Object rejected(@Nullable LastReload reload) {
        return reload != null && reload.result() instanceof ReloadResult.Rejected result
                ? Map.of("time", reload.time().toString(), "problems", problems(result.problems()))
                : null;
    }

    private static List<Map<String, Object>> problems(List<String> problems) {
        return problems.stream().map(ConfigurationPage::problem).toList();
    }

    private static Map<String, Object> problem(String text) {
        Matcher place = PLACE.matcher(text);
        boolean placed = place.matches();
        String file = placed ? place.group(1) : "";
        return Map.of(
                "file", file.equals(PASTED) ? "" : file,
                "line", placed ? Integer.parseInt(place.group(2)) : 0,
                "column", placed ? Integer.parseInt(place.group(3)) : 0,
                "message", placed ? place.group(4) : text);
    }

    private static List<String> withoutSecrets(List<String> texts) {
        return texts.stream().map(ConfigurationLines::withoutSecrets).toList();
    }

    AdminResponse compare(AdminRequest request) {
        String text = request.member("text");
        if (text == null) {
            return AdminResponse.error(400, "a JSON object with 'text', the configuration, is expected");
        }
        GatewayConfig next;
        try {
            next = source.parse(PASTED, text);
        } catch (ConfigException e) {
            return AdminResponse.json(200, Map.of("problems", problems(e.problems())));
        }
        ConfigDiff diff = ConfigDiff.of(written.get(), next);
        return AdminResponse.json(
                200,
                Map.of(
                        "problems", List.of(),
                        "changes", withoutSecrets(diff.changes()),
                        "effects", withoutSecrets(diff.effects()),
                        "after_restart", withoutSecrets(diff.needRestart())));
    }

    /** A configuration as lines of YAML, each with whether the file sets it. */
    record ConfigurationLines(ConfigKeys keys, List<Map<String, Object>> lines) {
        private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.%/@+*-]*");
        /** User and password of a URL. */
        private static final Pattern USER = Pattern.compile("://[^/@\\s]+@");

        /** The lines of a document, without secrets: {text, set}. */
        static List<Map<String, Object>> of(Map<String, Object> document, ConfigKeys keys) {
            ConfigurationLines lines = new ConfigurationLines(keys, new ArrayList<>());
            lines.members(document, List.of(), 0);
            return lines.lines;
        }

        /** The text without passwords of URLs. */
        static String withoutSecrets(String text) {
            return USER.matcher(text).replaceAll("://...@");
        }

        private void members(Map<?, ?> section, List<String> path, int depth) {
            section.forEach((key, value) -> {
                String name = String.valueOf(key);
                value(scalar(name) + ":", value, ConfigKeys.below(path, name), depth);
            });
        }

        private void value(String name, @Nullable Object value, List<String> path, int depth) {
            switch (value) {
                case Map<?, ?> map
                when !map.isEmpty() -> {
                    line(name, path, depth);
                    members(map, path, depth + 1);
                }
                case List<?> list
                when list.stream().anyMatch(Map.class::isInstance) -> {
                    line(name, path, depth);
                    for (int i = 0; i < list.size(); i++) {
                        value("-", list.get(i), ConfigKeys.below(path, Integer.toString(i)), depth + 1);
                    }
                }
                case null, default -> line(name + " " + inline(value), path, depth);
            }
        }

        private void line(String text, List<String> path, int depth) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("text", "  ".repeat(depth) + withoutSecrets(text));
            line.put("set", keys.paths().contains(path));
            lines.add(line);
        }

        private static String inline(@Nullable Object value) {
            return switch (value) {
                case null -> "none";
                case Map<?, ?> map -> "{}";
                case List<?> list -> {
                    List<String> items = new ArrayList<>();
                    list.forEach(each -> items.add(inline(each)));
                    yield "[" + String.join(", ", items) + "]";
                }
                default -> scalar(value.toString());
            };
        }

        private static String scalar(String text) {
            return PLAIN.matcher(text).matches()
                    ? text
                    : '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", "?") + '"';
        }
    }
}

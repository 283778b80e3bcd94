package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.FleetProbe;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ConfigProblem;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TimeoutHints;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.OipException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** Checks a configuration, and with {@code --probe} the servers that it names. */
final class ValidateCommand extends Command {
    private static final int NOT_GOOD = 1;

    private static final Option PROBE = CommandOptions.flag(
            "probe", "Also ask every server whether it is ready, what it is, and how it describes the models.");
    private static final Option TIMEOUT =
            CommandOptions.valued("timeout", "TIME", "With --probe: how long servers may take; default 10s.");
    private static final Option OUTPUT = CommandOptions.output(
            "Form of the output: sarif for code scanning, github for annotations of a workflow, gitlab for a code "
                    + "quality report.",
            "text",
            "json",
            "sarif",
            "github",
            "gitlab");

    /**
     * What is checked, and how the result is printed.
     *
     * @param files with their folders
     * @param form one of the words of {@link #OUTPUT}
     */
    private record Validation(List<Path> files, String form, Console console) {
        String name() {
            return files.stream().map(Path::toString).collect(Collectors.joining(", "));
        }

        boolean text() {
            return form.equals("text");
        }

        boolean json() {
            return form.equals("json");
        }

        /** A problem of the whole. */
        ConfigProblem problem(String message) {
            return new ConfigProblem(files.getFirst().toString(), 0, 0, message);
        }

        /** Prints the problems in a form that is neither text nor the command's own. */
        void report(List<ConfigProblem> problems) {
            ConfigProblemReport report = new ConfigProblemReport(Path.of(""), problems);
            switch (form) {
                case "sarif" -> console.out().println(report.sarif());
                case "github" -> console.out().print(report.github());
                default -> console.out().println(report.gitlab());
            }
        }
    }

    ValidateCommand() {
        super(
                "validate",
                List.of("FILE..."),
                List.of(PROBE, TIMEOUT, OUTPUT),
                "Checks a configuration file; with --probe also the servers that it names.",
                "Several files, and the files *.yaml of folders, are one configuration.",
                "Exit status: 0 good, 1 a server or model is not as configured or replicas disagree, 2 the file is refused.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException {
        String form = arguments.word(OUTPUT);
        Validation validation = new Validation(arguments.files(), form, console);
        Duration timeout = arguments.duration(TIMEOUT, "10s");
        GatewayConfig config;
        try {
            config = ConfigLoader.load(validation.files().toArray(Path[]::new));
            if (config.local() != null) {
                LocalBackend.requireAvailable();
            }
        } catch (ConfigException e) {
            refused(validation, e.located());
            return IsthmusCommand.REFUSED;
        } catch (OipException e) {
            refused(validation, List.of(validation.problem(e.message())));
            return IsthmusCommand.REFUSED;
        }
        ObjectNode report = arguments.has(PROBE) ? FleetProbe.of(config, timeout) : null;
        print(validation, TimeoutHints.of(config), report);
        return report == null || report.path("good").asBoolean() ? 0 : NOT_GOOD;
    }

    private static void refused(Validation validation, List<ConfigProblem> problems) {
        Console console = validation.console();
        if (validation.json()) {
            ObjectNode document = document(validation, false);
            problems.forEach(each -> document.withArray("problems").add(each.toString()));
            console.out().println(document.toPrettyString());
        } else if (validation.text()) {
            problems.forEach(console.err()::println);
        } else {
            validation.report(problems);
        }
        console.out().flush();
    }

    /** @param report of {@link FleetProbe}; null if the servers were not asked */
    private static void print(Validation validation, List<String> hints, @Nullable ObjectNode report) {
        Console console = validation.console();
        List<String> problems = report == null
                ? List.of()
                : report.path("problems").valueStream().map(JsonNode::asText).toList();
        if (validation.json()) {
            ObjectNode document = document(validation, problems.isEmpty());
            hints.forEach(document.putArray("hints")::add);
            if (report != null) {
                document.setAll(report);
            }
            console.out().println(document.toPrettyString());
        } else if (validation.text()) {
            console.out().println(validation.name() + ": good");
            // They are no problems, and appear beside the result.
            hints.forEach(hint -> console.err().println(validation.name() + ": hint: " + hint));
            if (report != null) {
                FleetCommands.servers(report, console);
                problems.forEach(console.err()::println);
            }
        } else {
            validation.report(problems.stream().map(validation::problem).toList());
        }
        console.out().flush();
    }

    private static ObjectNode document(Validation validation, boolean good) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("file", validation.name())
                .put("good", good);
    }

    /**
     * Problems of a configuration in the forms that code hosting reads: SARIF 2.1.0, workflow commands of GitHub, and the
     * code quality report of GitLab. Files are named relative to the working directory, if they are below it.
     */
    static final class ConfigProblemReport {
        private static final String RULE = "isthmus-configuration";
        private static final String SARIF_SCHEMA =
                "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

        private final Path folder;
        private final List<ConfigProblem> problems;

        /** @param folder the working directory */
        ConfigProblemReport(Path folder, List<ConfigProblem> problems) {
            this.folder = folder.toAbsolutePath().normalize();
            this.problems = problems;
        }

        /** The document of the Static Analysis Results Interchange Format, version 2.1.0. */
        String sarif() {
            ObjectNode document = JsonNodeFactory.instance
                    .objectNode()
                    .put("$schema", SARIF_SCHEMA)
                    .put("version", "2.1.0");
            ObjectNode run = document.putArray("runs").addObject();
            ObjectNode driver = run.putObject("tool").putObject("driver");
            driver.put("name", "isthmus").put("version", Version.current());
            driver.putArray("rules")
                    .addObject()
                    .put("id", RULE)
                    .putObject("shortDescription")
                    .put("text", "The configuration of Isthmus is valid.");
            run.put("columnKind", "unicodeCodePoints");
            ArrayNode results = run.putArray("results");
            problems.forEach(each -> result(results.addObject(), each));
            return document.toPrettyString();
        }

        private void result(ObjectNode result, ConfigProblem problem) {
            result.put("ruleId", RULE).put("ruleIndex", 0).put("level", "error");
            result.putObject("message").put("text", problem.message());
            ArrayNode locations = result.putArray("locations");
            if (problem.file().isEmpty()) {
                return;
            }
            ObjectNode place = locations.addObject().putObject("physicalLocation");
            place.putObject("artifactLocation").put("uri", uri(problem.file()));
            if (problem.line() > 0) {
                place.putObject("region").put("startLine", problem.line()).put("startColumn", problem.column());
            }
        }

        /** Lines that annotate the files of a pull request, printed by a job of GitHub Actions. */
        String github() {
            StringBuilder lines = new StringBuilder();
            for (ConfigProblem each : problems) {
                String place = each.file().isEmpty() ? "" : "file=" + property(path(each.file())) + ",";
                String position = each.line() > 0 ? "line=" + each.line() + ",col=" + each.column() + "," : "";
                lines.append("::error ").append(place).append(position).append("title=isthmus validate::");
                lines.append(data(each.message())).append('\n');
            }
            return lines.toString();
        }

        private static String data(String text) {
            return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A");
        }

        private static String property(String text) {
            return data(text).replace(":", "%3A").replace(",", "%2C");
        }

        /** The code quality report of a job of GitLab CI. A problem that moves to another line is the same. */
        String gitlab() {
            ArrayNode issues = JsonNodeFactory.instance.arrayNode();
            Map<String, Integer> seen = new HashMap<>();
            for (ConfigProblem each : problems) {
                String path = path(each.file());
                String what = path + '\n' + each.message();
                ObjectNode issue = issues.addObject()
                        .put("description", each.message())
                        .put("check_name", RULE)
                        .put(
                                "fingerprint",
                                Digests.hex(Digests.SHA_256, what + '\n' + seen.merge(what, 1, Integer::sum)))
                        .put("severity", "critical");
                issue.putObject("location").put("path", path).putObject("lines").put("begin", Math.max(1, each.line()));
            }
            return issues.toPrettyString();
        }

        private String path(String file) {
            Path path = folder.resolve(file).normalize();
            return (path.startsWith(folder) ? folder.relativize(path) : path)
                    .toString()
                    .replace('\\', '/');
        }

        private String uri(String file) {
            URI uri = folder.resolve(file).normalize().toUri();
            return folder.toUri().relativize(uri).toString();
        }
    }
}

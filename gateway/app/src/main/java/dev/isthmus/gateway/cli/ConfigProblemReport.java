package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.settings.ConfigProblem;
import dev.isthmus.gateway.settings.Digests;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Problems of a configuration in the forms that code hosting reads: SARIF 2.1.0, workflow commands of GitHub, and the
 * code quality report of GitLab. Files are named relative to the working directory, if they are below it.
 */
final class ConfigProblemReport {
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
                    .put("fingerprint", Digests.hex(Digests.SHA_256, what + '\n' + seen.merge(what, 1, Integer::sum)))
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
        Path path = folder.resolve(file).normalize();
        if (!path.startsWith(folder)) {
            return path.toUri().toString();
        }
        try {
            // As a path of its own, a first name with a colon would be a scheme.
            return new URI(null, null, "/" + path(file), null).toASCIIString().substring(1);
        } catch (URISyntaxException e) {
            throw new IllegalStateException("every path can be encoded", e);
        }
    }
}

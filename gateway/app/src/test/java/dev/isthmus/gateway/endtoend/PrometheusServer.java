package dev.isthmus.gateway.endtoend;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A real Prometheus that scrapes a gateway every second. */
final class PrometheusServer implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            global: {scrape_interval: 1s, evaluation_interval: 1s}
            rule_files: ["%1$s/rules.yml", "%1$s/alerts.yml"]
            scrape_configs:
              - job_name: isthmus
                static_configs: [{targets: ["%2$s"]}]
            """;

    private final HttpClient client = HttpClient.newHttpClient();
    private final Path log;
    private final int port;
    private final Process process;

    private PrometheusServer(Path folder, Path rules, String target) throws IOException, InterruptedException {
        Path config = Files.writeString(folder.resolve("prometheus.yml"), CONFIG.formatted(rules, target));
        log = folder.resolve("prometheus.log");
        port = RealServer.freePort();
        process = new ProcessBuilder(
                        program("prometheus").toString(),
                        "--config.file=" + config,
                        "--storage.tsdb.path=" + folder.resolve("data"),
                        "--web.listen-address=127.0.0.1:" + port)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
    }

    /**
     * Starts it.
     *
     * @param rules the folder of rules.yml and alerts.yml
     * @param target host and port to scrape
     */
    static PrometheusServer start(Path folder, Path rules, String target) throws IOException, InterruptedException {
        return new PrometheusServer(folder, rules, target);
    }

    /** A program of the installation: prometheus, promtool. */
    static Path program(String name) throws IOException, InterruptedException {
        return Script.folder("prometheus", Script.run("install.sh", "prometheus"))
                .resolve("bin")
                .resolve(name);
    }

    /** Whether it responds. */
    boolean ready() {
        try {
            return get("/-/ready").contains("Ready");
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }

    /** Whether a query has a result that is a number. */
    boolean hasNumbers(String query) throws IOException, InterruptedException {
        JsonNode response = api("query?query=" + URLEncoder.encode(query, StandardCharsets.UTF_8));
        if (!response.path("status").asText().equals("success")) {
            throw new AssertionError(query + ": " + response);
        }
        JsonNode data = response.path("data");
        List<JsonNode> series = data.path("resultType").asText().equals("scalar")
                ? List.of(data.path("result"))
                : data.path("result")
                        .valueStream()
                        .map(each -> each.path("value"))
                        .toList();
        return series.stream().anyMatch(value -> !value.path(1).asText().equals("NaN"));
    }

    /** The rules in force, with their last errors. */
    List<JsonNode> rules() throws IOException, InterruptedException {
        return api("rules")
                .path("data")
                .path("groups")
                .valueStream()
                .flatMap(group -> group.path("rules").valueStream())
                .toList();
    }

    /** Why the last scrape failed; empty if it did not. */
    String scrapeError() throws IOException, InterruptedException {
        return api("targets")
                .path("data")
                .path("activeTargets")
                .path(0)
                .path("lastError")
                .asText();
    }

    private JsonNode api(String path) throws IOException, InterruptedException {
        return JSON.readTree(get("/api/v1/" + path));
    }

    private String get(String path) throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
                .body();
    }

    /** What it has logged. */
    String log() throws IOException {
        return Files.readString(log);
    }

    @Override
    public void close() {
        Script.stop(process);
        client.close();
    }
}

package dev.isthmus.gateway.endtoend;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A real collector of OpenTelemetry, which receives OTLP over HTTP and writes what it gets into files. */
final class OtelCollector implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            receivers:
              otlp: {protocols: {http: {endpoint: "127.0.0.1:%1$d"}}}
            exporters:
              file/traces: {path: "%2$s/traces.jsonl", flush_interval: 100ms}
              file/metrics: {path: "%2$s/metrics.jsonl", flush_interval: 100ms}
            service:
              telemetry: {metrics: {level: none}}
              pipelines:
                traces: {receivers: [otlp], exporters: [file/traces]}
                metrics: {receivers: [otlp], exporters: [file/metrics]}
            """;

    private final Path folder;
    private final int port;
    private final Process process;

    private OtelCollector(Path folder) throws IOException, InterruptedException {
        this.folder = folder;
        port = RealServer.freePort();
        Path config = Files.writeString(folder.resolve("otelcol.yaml"), CONFIG.formatted(port, folder));
        Path program =
                Script.folder("otelcol", Script.run("install.sh", "otelcol")).resolve("otelcol");
        process = new ProcessBuilder(program.toString(), "--config=file:" + config)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("otelcol.log").toFile())
                .start();
    }

    static OtelCollector start(Path folder) throws IOException, InterruptedException {
        return new OtelCollector(folder);
    }

    /** Whether it accepts connections. */
    boolean ready() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    /** The URL for a signal: traces, metrics. */
    String url(String signal) {
        return "http://127.0.0.1:" + port + "/v1/" + signal;
    }

    /** The requests of a signal so far, as the collector understood them. */
    List<JsonNode> received(String signal) throws IOException {
        Path file = folder.resolve(signal + ".jsonl");
        List<JsonNode> requests = new ArrayList<>();
        if (Files.exists(file)) {
            String text = Files.readString(file);
            // The last line may be incomplete.
            for (String line :
                    text.substring(0, text.lastIndexOf('\n') + 1).lines().toList()) {
                requests.add(JSON.readTree(line));
            }
        }
        return requests;
    }

    @Override
    public void close() {
        Script.stop(process);
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** How many time series a gateway with 1,000 models and 200 servers exports; docs/reference/metrics.md has the sums. */
class NumberOfSeriesTest {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final int MODELS = 1000;
    private static final int SERVERS = 200;
    /** In flight, ready, drift; inferences by outcome. */
    private static final int OF_MODEL = 3 + 3;
    /** Phases and bytes of one operation over one protocol. */
    private static final int OF_OPERATION = 3 * 2 + 2;
    /** 16 buckets, infinity, sum, count, maximum. */
    private static final int OF_CODE = 20;

    private static final int OF_SERVER = 32;
    /** Everything else: process, connections, fixed sets of labels. */
    private static final int OTHERS = 600;

    private static String config() {
        String servers = IntStream.range(0, SERVERS)
                .mapToObj(i -> "\"127.0.1." + (i + 1) + ":1\"")
                .collect(Collectors.joining(", "));
        String models = IntStream.range(0, MODELS)
                .mapToObj(i -> "  m" + i + ": {upstream: local, model: digits}\n")
                .collect(Collectors.joining());
        return """
                listeners: [{port: 0}]
                admin: {port: 0}
                local: {embedded_models: true}
                upstreams:
                  servers: {protocol: rest, endpoints: [%s], checks: {interval: 1h}}
                models:
                """.formatted(servers) + models;
    }

    @Test
    void series_growWithTheSumOfModelsAndServers() throws Exception {
        byte[] sample = Files.readAllBytes(ROOT.resolve("local-backend/src/main/resources/models/digits/sample.json"));
        try (Gateway gateway = Gateway.start(ConfigLoader.parse("f.yaml", config(), ROOT));
                HttpClient client = HttpClient.newHttpClient()) {
            String address =
                    "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
            for (int i = 0; i < MODELS; i++) {
                URI infer = URI.create(address + "/v2/models/m" + i + "/infer");
                for (byte[] body : List.of(sample, "{}".getBytes(StandardCharsets.US_ASCII))) {
                    HttpRequest request = HttpRequest.newBuilder(infer)
                            .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                            .build();
                    client.send(request, BodyHandlers.discarding());
                }
            }
            URI metrics = URI.create(
                    "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + "/metrics");
            for (int i = 0; i < 4; i++) {
                long s0 = System.nanoTime();
                client.send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
                        .body();
                System.out.println("warm " + (System.nanoTime() - s0) / 1_000_000);
            }
            long start = System.nanoTime();
            String text = client.send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
                    .body();
            long millis = (System.nanoTime() - start) / 1_000_000;

            List<String> series =
                    text.lines().filter(line -> !line.startsWith("#")).toList();
            System.out.println(series.size() + " series, " + text.length() + " bytes, " + millis + " ms");
            assertThat(series.stream().filter(line -> line.contains("model=\"m7\"")))
                    .hasSize(OF_MODEL + OF_OPERATION + 2 * OF_CODE);
            assertThat(series.stream().filter(line -> line.contains("endpoint=\"127.0.1.7:1\"")))
                    .hasSize(OF_SERVER);
            assertThat(series)
                    .hasSizeLessThan(MODELS * (OF_MODEL + OF_OPERATION + 2 * OF_CODE) + SERVERS * OF_SERVER + OTHERS);
        }
    }
}

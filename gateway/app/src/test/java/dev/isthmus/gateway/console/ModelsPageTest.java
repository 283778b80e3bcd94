package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.sun.management.OperatingSystemMXBean;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The document of the page Models, with more models than it has at once, and 200 servers, which do not answer. It prints
 * the CPU time of the process for a reading of each document that open pages ask for;
 * {@code -Disthmus.models=20000} makes the fleet larger.
 */
class ModelsPageTest {
    private static final int MODELS = Integer.getInteger("isthmus.models", 2000);
    private static final int UPSTREAMS = 20;
    private static final int SERVERS_OF_UPSTREAM = 10;
    private static final int READINGS = 50;
    /** What the pages Models, Servers, Overview and Traffic ask for again and again. */
    private static final List<String> POLLED = List.of(
            "/console/models",
            "/servers?models=not_ready",
            "/console/overview?minutes=15",
            "/console/traffic?kind=model&name=m01234",
            "/problems");

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String TENSOR = "{\"name\":\"INPUT%d\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":[%s]}";
    private static final int SHOWN = 500;
    private static final JsonMapper JSON = new JsonMapper();

    @TempDir
    static Path folder = Path.of(".");

    private static Gateway gateway;
    private static HttpClient http;

    @BeforeAll
    static void start() throws Exception {
        String models = IntStream.range(0, MODELS)
                .mapToObj(i -> """
                          m%05d:
                            aliases: [other-%05d]
                            targets: [{upstream: local, model: simple}, {upstream: u%d, weight: 0}]
                        """.formatted(i, i, i % UPSTREAMS))
                .collect(Collectors.joining());
        gateway = Gateway.start(ConfigLoader.parse("test.yaml", """
                listeners: [{port: 0}]
                admin: {port: 0}
                local: {embedded_models: true}
                health: {warm_up: 0s}
                metrics: {max_series: 1000000}
                upstreams:
                """ + upstreams() + "models:\n" + models, folder));
        http = HttpClient.newHttpClient();
    }

    private static String upstreams() {
        return IntStream.range(0, UPSTREAMS)
                .mapToObj(i -> "  u%d: {protocol: rest, endpoints: [%s]}%n"
                        .formatted(
                                i,
                                IntStream.range(1, SERVERS_OF_UPSTREAM + 1)
                                        .mapToObj(server -> "\"127.0.%d.%d:1\"".formatted(i + 1, server))
                                        .collect(Collectors.joining(", "))))
                .collect(Collectors.joining());
    }

    @AfterAll
    static void stop() {
        http.close();
        gateway.close();
    }

    private static void call(String model) throws Exception {
        String ones = "1" + ",1".repeat(15);
        String body = "{\"inputs\":[" + TENSOR.formatted(0, ones) + "," + TENSOR.formatted(1, ones) + "]}";
        int port = gateway.addresses().getFirst().getPort();
        URI uri = URI.create("http://127.0.0.1:" + port + "/v2/models/" + model + "/infer");
        HttpRequest request =
                HttpRequest.newBuilder(uri).POST(BodyPublishers.ofString(body)).build();
        assertThat(http.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
    }

    private static long cpuNanos() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
    }

    @Test
    void theBusiest_comeFirst() throws Exception {
        for (int i = 0; i < MODELS; i++) {
            call("m%05d".formatted(i));
        }
        for (int i = 0; i < 20; i++) {
            call("m01234");
        }
        await().atMost(PATIENCE)
                .until(() -> page("?limit=1")
                        .path("models")
                        .path(0)
                        .path("name")
                        .asText()
                        .equals("m01234"));
        for (String path : POLLED) {
            read(path);
            long before = cpuNanos();
            read(path);
            System.out.printf(
                    "%,d models, %,d servers: %s: %.1f ms of CPU a reading%n",
                    MODELS,
                    UPSTREAMS * SERVERS_OF_UPSTREAM,
                    path,
                    (cpuNanos() - before) / (double) READINGS / TimeUnit.MILLISECONDS.toNanos(1));
        }
    }

    /** Reads a document some times, and does not look at it. */
    private static void read(String path) throws Exception {
        for (int i = 0; i < READINGS; i++) {
            assertThat(http.send(request(path), BodyHandlers.discarding()).statusCode())
                    .isEqualTo(200);
        }
    }

    private static HttpRequest request(String path) {
        int port = gateway.adminAddress().orElseThrow().getPort();
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .build();
    }

    private static JsonNode page(String query) throws Exception {
        return get("/console/models" + query);
    }

    private static JsonNode get(String path) throws Exception {
        String body = http.send(request(path), BodyHandlers.ofString()).body();
        assertThat(body).hasSizeLessThan(SHOWN * 2100);
        return JSON.readTree(body);
    }

    @Test
    void traffic_isOfOneSubject() throws Exception {
        JsonNode others = get("/console/traffic");
        assertThat(others.path("kind").asText()).isEqualTo("model");
        assertThat(others.path("found").asBoolean()).isTrue();
        assertThat(others.path("subjects").size()).isLessThanOrEqualTo(50);
        JsonNode unknown = get("/console/traffic?kind=server&of=u&name=nowhere:1&minutes=60");
        assertThat(unknown.path("found").asBoolean()).isFalse();
        assertThat(unknown.path("mean").isEmpty()).isTrue();
        assertThat(get("/console/traffic?kind=upstream").path("error").asText())
                .contains("one of model, target, server, caller is expected, got 'upstream'");
        assertThat(get("/console/traffic?minutes=361").path("error").asText()).contains("from 15 to 360 is expected");
    }

    @Test
    void manyModels_areCut() throws Exception {
        JsonNode page = page("");
        assertThat(page.path("models")).hasSize(SHOWN);
        assertThat(page.path("all").asInt()).isGreaterThanOrEqualTo(MODELS);
        assertThat(page.path("matching")).isEqualTo(page.path("all"));
        assertThat(page("?limit=7").path("models")).hasSize(7);
        assertThat(page("?limit=501").path("error").asText()).contains("a whole number from 1 to 500 is expected");
    }

    @Test
    void search_findsModelsByAllTheirWords() throws Exception {
        JsonNode found = page("?search=M01999").path("models");
        assertThat(found).hasSize(1);
        assertThat(found.path(0).path("name").asText()).isEqualTo("m01999");
        assertThat(found.path(0).path("targets").path(0).path("upstream").asText())
                .isEqualTo("local");
        assertThat(found.path(0).path("versions").isArray()).isTrue();
        assertThat(found.path(0).path("drift").isArray()).isTrue();
        assertThat(found.path(0).path("validation").path("mode").asText()).isEqualTo("report");
        assertThat(found.path(0).path("validation").path("invalid").isEmpty()).isTrue();
        assertThat(page("?search=other-01999+simple+model").path("models")).hasSize(1);
        assertThat(page("?search=in-process+m01999").path("models"))
                .isEqualTo(page("?search=m01999+in-process").path("models"));
        assertThat(page("?search=nothing").path("matching").asInt()).isZero();
    }
}

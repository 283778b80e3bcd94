package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.cli.IsthmusCommand;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.local.LocalProcess;
import dev.isthmus.local.call.ProcessFolder;
import dev.isthmus.local.call.RunningModels;
import dev.isthmus.local.call.RunningModels.RunningModel;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Local models in a process of their own, which a signal ends as a crash of native code does. */
class OwnProcessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path TESTS = Path.of("../../local-backend/src/test/resources");
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String FOLDER = "-Disthmus.local.process=";
    private static final String INFER = """
            {"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}]}""";

    private static final String ENDLESS = """
            {"inputs":[{"name":"COUNT","datatype":"INT64","shape":[1,1],"data":[9223372036854775807]}]}""";

    private static final String SHORT = ENDLESS.replace("9223372036854775807", "1");

    @TempDir
    Path folder;

    private final HttpClient client = HttpClient.newHttpClient();

    /** A child of this process, or of another one, that runs local models. */
    private record Child(ProcessHandle process, ProcessFolder folder) {
        static Child of(ProcessHandle parent) {
            await().atMost(PATIENCE).until(() -> parent.children().anyMatch(Child::runsModels));
            ProcessHandle process =
                    parent.children().filter(Child::runsModels).findFirst().orElseThrow();
            String option = Arrays.stream(process.info().arguments().orElseThrow())
                    .filter(argument -> argument.startsWith(FOLDER))
                    .findFirst()
                    .orElseThrow();
            return new Child(process, new ProcessFolder(Path.of(option.substring(FOLDER.length()))));
        }

        private static boolean runsModels(ProcessHandle process) {
            return process.info()
                    .arguments()
                    .map(Arrays::asList)
                    .orElse(List.of())
                    .contains(LocalProcess.COMMAND);
        }

        /** Empty if the system does not tell it. */
        String environment() throws IOException {
            Path file = Path.of("/proc", Long.toString(process.pid()), "environ");
            return Files.exists(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
        }

        List<String> running() throws IOException {
            return RunningModels.at(folder).stream().map(RunningModel::model).toList();
        }

        void crash() throws Exception {
            new ProcessBuilder("kill", "-SEGV", Long.toString(process.pid()))
                    .start()
                    .waitFor();
            process.onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    @BeforeEach
    void write() throws IOException {
        Path models = Files.createDirectories(folder.resolve("models"));
        Files.copy(TESTS.resolve("execution/turns.onnx"), models.resolve("turns.onnx"));
        Files.copy(TESTS.resolve("models/identity_fp32/1/model.onnx"), models.resolve("good.onnx"));
    }

    private GatewayConfig config(String local, Gateway remote) throws Exception {
        return ConfigLoader.parse(
                "isthmus.yaml", """
                listeners: [{port: 0, management: allow}]
                admin: {port: 0}
                answers: {errors: passed}
                upstreams: {other: {protocol: rest, endpoints: ["127.0.0.1:%d"]}}
                models: {remote: {upstream: other, model: good}}
                default_upstream: local
                local: {model_repository: models, threads: 2, process: own%s}
                """.formatted(remote.addresses().getFirst().getPort(), local), folder);
    }

    /** A server of another upstream: a gateway whose models are in its own process. */
    private Gateway remote() throws Exception {
        return Gateway.start(ConfigLoader.parse("remote.yaml", """
                listeners: [{port: 0}]
                default_upstream: local
                local: {model_repository: models, model_control: explicit, load: [good]}
                """, folder));
    }

    private CompletableFuture<HttpResponse<String>> post(InetSocketAddress to, String path, String body) {
        URI uri = URI.create("http://127.0.0.1:" + to.getPort() + path);
        return client.sendAsync(
                HttpRequest.newBuilder(uri)
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                BodyHandlers.ofString());
    }

    private CompletableFuture<HttpResponse<String>> infer(Gateway gateway, String model) {
        return post(gateway.addresses().getFirst(), "/v2/models/" + model + "/infer", INFER);
    }

    /** Whether each model has run: they are loaded one after the other. */
    private boolean loaded(Gateway gateway) {
        String turns = "/v2/models/turns/infer";
        return status(gateway, "good") == 200
                && post(gateway.addresses().getFirst(), turns, SHORT).join().statusCode() == 200;
    }

    /** A run that does not end within this test. */
    private CompletableFuture<HttpResponse<String>> endless(Gateway gateway) {
        return post(gateway.addresses().getFirst(), "/v2/models/turns/infer", ENDLESS);
    }

    private int status(Gateway gateway, String model) {
        return infer(gateway, model).join().statusCode();
    }

    private JsonNode get(InetSocketAddress from, String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + from.getPort() + path);
        return JSON.readTree(client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
                .body());
    }

    private JsonNode index(Gateway gateway) throws Exception {
        String body = post(gateway.addresses().getFirst(), "/v2/repository/index", "{}")
                .join()
                .body();
        return JSON.readTree(body);
    }

    @Test
    void modelThatRunsAtThreeCrashes_isExcluded_andNothingElseIsAffected() throws Exception {
        try (Gateway remote = remote();
                Gateway gateway = Gateway.start(config("", remote))) {
            Queue<Integer> proxied = new ConcurrentLinkedQueue<>();
            AtomicBoolean over = new AtomicBoolean();
            Thread calls = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    proxied.add(status(gateway, "remote"));
                }
            });
            for (int crash = 1; crash <= 3; crash++) {
                await().atMost(PATIENCE).until(() -> loaded(gateway));
                Child child = Child.of(ProcessHandle.current());
                CompletableFuture<HttpResponse<String>> running = endless(gateway);
                await().atMost(PATIENCE).until(() -> child.running().equals(List.of("turns")));
                child.crash();
                HttpResponse<String> failed = running.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                assertThat(failed.statusCode()).isEqualTo(503);
                assertThat(failed.body()).contains("upstream 'local' has lost its process");
            }
            await().atMost(PATIENCE).until(() -> status(gateway, "good") == 200);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(endless(gateway).join().body())
                            .contains("is not loaded: it ran at three crashes of the process of the local models"));
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(get(gateway.adminAddress().orElseThrow(), "/problems")
                                    .toString())
                            .contains("\"model_excluded\"")
                            .contains("Local model 'turns' is not loaded any more"));
            over.set(true);
            calls.join();
            assertThat(proxied).isNotEmpty().containsOnly(200);
        }
    }

    @Test
    void process_servesWhatTheGatewayServes_andEndsWithIt() throws Exception {
        Child child;
        try (Gateway remote = remote();
                Gateway gateway = Gateway.start(config(", model_control: explicit, load: [good]", remote))) {
            child = Child.of(ProcessHandle.current());
            assertThat(PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(child.folder().path())))
                    .isEqualTo("rwx------");
            InetSocketAddress at = gateway.addresses().getFirst();
            assertThat(status(gateway, "good")).isEqualTo(200);
            assertThat(get(at, "/v2/models/good").path("platform").asText()).isEqualTo("onnxruntime_onnx");
            assertThat(get(at, "/v2/models/good/config").path("name").asText()).isEqualTo("good");
            assertThat(get(at, "/v2/models/good/stats")
                            .path("model_stats")
                            .path(0)
                            .path("execution_count")
                            .asInt())
                    .isEqualTo(1);
            // The index has a server from when the catalogue knows its extensions, which it asks once it is ready.
            await().atMost(PATIENCE)
                    .untilAsserted(() ->
                            assertThat(index(gateway).findValuesAsText("state")).contains("READY", "UNAVAILABLE"));
            assertThat(post(at, "/v2/repository/models/good/unload", "{}")
                            .join()
                            .statusCode())
                    .isEqualTo(200);
            assertThat(status(gateway, "good")).isEqualTo(404);
            assertThat(post(at, "/v2/repository/models/good/load", "{}").join().statusCode())
                    .isEqualTo(200);
            assertThat(status(gateway, "good")).isEqualTo(200);
            gateway.reload(config(", model_control: explicit, load: [good], queue_size: 7", remote));
            assertThat(status(gateway, "good")).isEqualTo(200);
        }
        // The one that the reload has replaced ends in the background.
        await().atMost(PATIENCE).untilAsserted(() -> {
            assertThat(child.process().isAlive()).isFalse();
            assertThat(child.folder().path()).doesNotExist();
            assertThat(ProcessHandle.current().children()).noneMatch(Child::runsModels);
        });
    }

    @Test
    void process_endsWithAGatewayThatIsKilled() throws Exception {
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), """
                listeners: [{port: 0}]
                health: {warm_up: 0s}
                default_upstream: local
                local: {model_repository: models, process: own}
                """);
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        IsthmusCommand.class.getName(),
                        "serve",
                        "--config",
                        file.toString())
                .redirectErrorStream(true);
        builder.environment().put("JAVA_TOOL_OPTIONS", "-Disthmus.test=true");
        Process gateway = builder.start();
        try (BufferedReader out = gateway.inputReader()) {
            assertThat(out.lines().anyMatch(line -> line.contains("serves REST and gRPC")))
                    .isTrue();
            Child child = Child.of(gateway.toHandle());
            assertThat(child.environment()).doesNotContain("JAVA_TOOL_OPTIONS");
            gateway.destroyForcibly();
            child.process().onExit().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(child.folder().path()).doesNotExist();
        } finally {
            gateway.destroyForcibly();
        }
    }
}

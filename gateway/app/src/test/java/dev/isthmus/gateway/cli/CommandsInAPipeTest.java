package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every command as a process of its own, without a terminal. */
class CommandsInAPipeTest {
    private static final String CONFIG = "{listeners: [{port: 0}], admin: {port: 0}, health: {warm_up: 0s},"
            + " local: {embedded_models: true}, models: {simple: {upstream: local}}}";

    @TempDir
    private static Path folder = Path.of(".");

    private static Gateway gateway;

    @BeforeAll
    static void start() throws Exception {
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), CONFIG);
        gateway = Gateway.start(ConfigLoader.load(file));
    }

    @AfterAll
    static void stop() {
        gateway.close();
    }

    private static Process process(String line) throws IOException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), IsthmusCommand.class.getName()));
        String admin = "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
        String url = "http://127.0.0.1:" + gateway.addresses().getFirst().getPort();
        command.addAll(List.of(line.replace("ADMIN", "--admin " + admin)
                .replace("URL", "--url " + url)
                .replace("FILE", folder.resolve("isthmus.yaml").toString())
                .split(" ")));
        return new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    private static String err() throws IOException {
        return Files.readString(folder.resolve("err"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "top ADMIN --interval 100ms",
                "top ADMIN --interval 100ms --once",
                "top ADMIN --interval 100ms -o json",
                "health ADMIN",
                "servers ADMIN",
                "models ADMIN -o json",
                "ramps ADMIN",
                "shadows ADMIN",
                "infer simple URL",
                "infer simple URL --grpc -n 3 -o json",
                "explain FILE simple",
                "explain FILE simple -o json",
                "validate FILE",
                "validate FILE --probe",
                "check --config FILE",
                "diff FILE FILE",
                "schema",
                "key alice",
                "completion bash",
                "help",
                "version",
            })
    void command_inAPipe_printsAndEnds(String line) throws Exception {
        Process process = process(line);
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).as(out + err()).isZero();
        assertThat(err()).doesNotContain("Exception", "null");
        assertThat(line.startsWith("diff") || !out.isBlank()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"top ADMIN --interval 100ms", "schema", "servers ADMIN", "help"})
    void command_whoseReaderHasGone_ends(String line) throws Exception {
        Process process = process(line);
        process.getInputStream().close();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).isEmpty();
    }

    @Test
    void server_whoseReaderHasGone_servesUntilTerminated() throws Exception {
        String address = TestConfigs.unusedEndpoint().authority();
        Process process = process("serve --config FILE --port " + address.substring(address.lastIndexOf(':') + 1));
        process.getInputStream().close();
        HttpRequest live = HttpRequest.newBuilder(URI.create("http://" + address + "/v2/health/live"))
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            await().atMost(1, TimeUnit.MINUTES).ignoreExceptions().until(() -> {
                return client.send(live, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
            });
        } finally {
            process.destroy();
        }
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(err()).doesNotContain("Exception");
    }
}

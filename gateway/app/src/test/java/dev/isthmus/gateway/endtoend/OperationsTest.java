package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The console's pages Configuration, Live and Audit in a real browser. With {@code -Disthmus.screenshots=FOLDER} the pictures
 * of the documentation are made.
 */
class OperationsTest {
    private static final String TOKEN = "a-long-secret";
    private static final String READ_TOKEN = "a-secret-of-viewers";

    private static String config() throws IOException {
        return """
                listeners: [{port: 0}]
                admin: {port: 0, token_file: token, tokens: {viewer: {file: viewer, role: read}}}
                health: {warm_up: 0s}
                answers: {errors: passed}
                local: {embedded_models: true}
                upstreams:
                  down: {protocol: rest, endpoints: ["%s"]}
                models:
                  fraud: {upstream: down}
                  simple: {upstream: local}
                """.formatted(TestConfigs.unusedEndpoint().authority());
    }

    private static void call(HttpClient client, Gateway gateway, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + TestGateways.address(gateway) + path))
                .POST(HttpRequest.BodyPublishers.ofString(
                        "{\"inputs\": [{\"name\": \"x\", \"shape\": [1], \"datatype\": \"FP32\", \"data\": [1]}]}"))
                .build();
        client.send(request, HttpResponse.BodyHandlers.discarding());
    }

    private static void secret(Path file, String token) throws IOException {
        Files.writeString(file, token);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    /** Calls as long as the browser looks. */
    private static Thread traffic(Gateway gateway, AtomicBoolean ended) {
        return Thread.ofVirtual().start(() -> {
            try (HttpClient client = HttpClient.newHttpClient()) {
                while (!ended.get()) {
                    call(client, gateway, "/v2/models/fraud/infer");
                    call(client, gateway, "/v2/models/simple/infer");
                    TimeUnit.MILLISECONDS.sleep(100);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void pages(@TempDir Path folder) throws Exception {
        secret(folder.resolve("token"), TOKEN);
        secret(folder.resolve("viewer"), READ_TOKEN);
        String config = config();
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), config);
        AtomicBoolean ended = new AtomicBoolean();
        try (Gateway gateway = Gateway.start(new ConfigFile(List.of(file), given -> given))) {
            Files.writeString(file, config.replace("upstream: down", "upstream: down, timeout: 20s"));
            assertThat(gateway.reload()).isInstanceOf(ReloadResult.Applied.class);
            Files.writeString(file, "modles: {}\n" + config);
            assertThat(gateway.reload()).isInstanceOf(ReloadResult.Rejected.class);
            Thread traffic = traffic(gateway, ended);
            try {
                ConsoleScript.run("operations.sh", ConsoleScript.url(gateway), TOKEN, READ_TOKEN);
            } finally {
                ended.set(true);
                traffic.join();
            }
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A gateway while its local models load, one of which never ends to warm up. */
class LoadingModelsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path TESTS = Path.of("../../local-backend/src/test/resources");
    private static final String INFER = """
            {"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1],"data":[1]}]}""";

    @TempDir
    Path folder;

    @BeforeEach
    void write() throws IOException {
        Path models = Files.createDirectories(folder.resolve("models"));
        Files.copy(TESTS.resolve("execution/endless.onnx"), models.resolve("endless.onnx"));
        Files.copy(TESTS.resolve("models/identity_fp32/1/model.onnx"), models.resolve("good.onnx"));
    }

    private GatewayConfig config(String local) throws Exception {
        return ConfigLoader.parse("isthmus.yaml", """
                listeners: [{port: 0}]
                default_upstream: local
                local: {model_repository: models, threads: 1, %s}
                """.formatted(local), folder);
    }

    private static Http1Client.Response post(Gateway gateway, String path, String body) throws Exception {
        InetSocketAddress address = gateway.addresses().getFirst();
        try (Http1Client client = new Http1Client(new Socket(address.getAddress(), address.getPort()))) {
            return client.post(path, body).response();
        }
    }

    private static int infer(Gateway gateway, String model) throws Exception {
        return post(gateway, "/v2/models/" + model + "/infer", INFER).status();
    }

    private static JsonNode index(Gateway gateway) throws Exception {
        return JSON.readTree(post(gateway, "/v2/repository/index", "{}").text());
    }

    @Test
    void warmUpThatDoesNotEnd_keepsNeitherPortsNorOtherModelsWaiting() throws Exception {
        GatewayConfig config = config("load_timeout: 1h");
        try (Gateway gateway = Gateway.start(() -> config)) {
            await().until(() -> infer(gateway, "good") == 200);
            assertThat(infer(gateway, "endless")).isEqualTo(503);
            assertThat(index(gateway).get(0).path("state").asText()).isEqualTo("LOADING");
            assertThat(gateway.ready()).isFalse();
        }
    }

    @Test
    void warmUpThatDoesNotEnd_failsInTheEnd_withItsReason() throws Exception {
        try (Gateway gateway = Gateway.start(config("load_timeout: 5s"))) {
            assertThat(infer(gateway, "endless")).isEqualTo(404);
            assertThat(index(gateway).get(0).path("reason").asText())
                    .isEqualTo("its warm-up did not end within 5 s, the load_timeout");
            assertThat(infer(gateway, "good")).isEqualTo(200);
        }
    }

    @Test
    void reload_takesEffect_whenTheNewBackendHasItsModels() throws Exception {
        try (Gateway gateway = Gateway.start(config("model_control: explicit, load: [good]"))) {
            ReloadResult result = gateway.reload(config("model_control: explicit, load: [good], queue_size: 7"));
            assertThat(infer(gateway, "good")).isEqualTo(200);
            assertThat(gateway.config().local())
                    .as("%s", result)
                    .extracting("queueSize")
                    .isEqualTo(7);
        }
    }
}

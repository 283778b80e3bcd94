package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeV2Server;
import io.micrometer.core.instrument.Counter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests compared with what the servers of a model say of it, as it is known and as it changes. */
class DeclaredRequestsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private FakeV2Server first;
    private FakeV2Server second;
    private @TempDir Path directory;

    @BeforeEach
    void start() throws Exception {
        first = FakeV2Server.grpc();
        second = FakeV2Server.grpc();
    }

    @AfterEach
    void stop() throws Exception {
        first.close();
        second.close();
    }

    /** A gateway in front of both servers. */
    private Stage gateway(String models) throws Exception {
        return FleetStage.with(ConfigLoader.load(Files.writeString(directory.resolve("isthmus.yaml"), """
                listeners: [{host: 127.0.0.1, port: 0}]
                validate: strict
                upstreams:
                  both: {protocol: %s, endpoints: ["127.0.0.1:%d", "127.0.0.1:%d"], checks: {interval: 100ms}}
                %s
                """.formatted(
                        first.protocol().name().toLowerCase(Locale.ROOT),
                        first.endpoint().port(),
                        second.endpoint().port(),
                        models))));
    }

    private static String sent(Stage stage, String model, String datatype, int extent) throws Exception {
        String request = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + datatype + "\",\"shape\":[" + extent
                + "],\"data\":[" + "1,".repeat(extent - 1) + "1]}]}";
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post("/v2/models/" + model + "/infer", request).response();
            return response.status() == 200 ? "ok" : response.text();
        }
    }

    private static void awaitRefused(Stage stage, String model, String datatype, int extent, String because) {
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(sent(stage, model, datatype, extent)).isEqualTo("{\"error\":\"" + because + "\"}"));
    }

    private static void awaitSent(Stage stage, String model, String datatype) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(sent(stage, model, datatype, 2)).isEqualTo("ok"));
    }

    @ParameterizedTest
    @EnumSource(UpstreamProtocol.class)
    void configuredModel_isComparedUnderItsNameOnTheServer(UpstreamProtocol protocol) throws Exception {
        stop();
        first = FakeV2Server.on(protocol, 0).with("theirs", "FP32");
        second = FakeV2Server.on(protocol, 0).with("theirs", "FP32");
        try (Stage stage = gateway("models: {ours: {upstream: both, model: theirs}}")) {
            awaitRefused(stage, "ours", "INT64", 2, "input 'x' of model 'ours': datatype FP32 is expected, got INT64");
            awaitRefused(stage, "ours", "FP32", 3, "input 'x' of model 'ours': shape [2] is expected, got [3]");
            assertThat(sent(stage, "ours", "FP32", 2)).isEqualTo("ok");
        }
    }

    @Test
    void unlistedModel_isLookedUp_onceItIsCalled() throws Exception {
        first.with("m", "FP32");
        second.with("m", "FP32");
        try (Stage stage = gateway("default_upstream: both")) {
            assertThat(sent(stage, "m", "INT64", 2)).isEqualTo("ok");
            Counter passed = stage.proxy()
                    .meters()
                    .get("isthmus.requests.unvalidated")
                    .tag("reason", "unknown")
                    .counter();
            assertThat(passed.count()).isPositive();
            awaitRefused(stage, "m", "INT64", 2, "input 'x' of model 'm': datatype FP32 is expected, got INT64");
        }
    }

    @Test
    void serversThatDiffer_takeWhatEitherTakes() throws Exception {
        first.with("m", "FP32");
        second.with("m", "INT64");
        try (Stage stage = gateway("models: {m: {upstream: both}}")) {
            awaitRefused(stage, "m", "FP64", 2, "input 'x' of model 'm': datatype FP32 is expected, got FP64");
            // The servers are read one after the other.
            awaitSent(stage, "m", "FP32");
            awaitSent(stage, "m", "INT64");
        }
    }

    @Test
    void modelThatWasReplaced_isReadAgain_afterARefusedRequest() throws Exception {
        first.with("m", "FP32");
        second.with("m", "FP32");
        try (Stage stage = gateway("models: {m: {upstream: both}}")) {
            awaitRefused(stage, "m", "INT64", 2, "input 'x' of model 'm': datatype FP32 is expected, got INT64");
            first.with("m", "INT64");
            second.with("m", "INT64");
            awaitSent(stage, "m", "INT64");
            awaitRefused(stage, "m", "FP32", 2, "input 'x' of model 'm': datatype INT64 is expected, got FP32");
        }
    }

    private static String validated(Stage stage, String path, String request) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post("/v2/models/" + path + "/validate", request)
                    .response()
                    .text();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"models: {m: {upstream: both, validate: off}}", "default_upstream: both"})
    void validation_saysAllThatIsWrong_withoutAskingForAnInference(String models) throws Exception {
        first.with("m", "FP32");
        second.with("m", "FP32");
        try (Stage stage = gateway(models)) {
            for (String path : List.of("m", "m/versions/1")) {
                String valid = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1,2]}]}";
                await().atMost(PATIENCE)
                        .untilAsserted(() -> assertThat(validated(stage, path, valid))
                                .isEqualTo("{\"model_name\":\"m\",\"valid\":true,\"compared\":true,\"errors\":[]}"));
                assertThat(validated(
                                stage,
                                path,
                                "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[1]}]}"))
                        .isEqualTo("{\"model_name\":\"m\",\"valid\":false,\"compared\":true,\"errors\":["
                                + "{\"reason\":\"datatype\",\"tensor\":\"x\",\"expected\":\"FP32\",\"got\":\"INT8\",\"message\":"
                                + "\"input 'x' of model 'm': datatype FP32 is expected, got INT8\"},"
                                + "{\"reason\":\"shape\",\"tensor\":\"x\",\"expected\":\"[2]\",\"got\":\"[1]\",\"message\":"
                                + "\"input 'x' of model 'm': shape [2] is expected, got [1]\"}]}");
            }
            assertThat(validated(
                            stage,
                            "m",
                            "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1]}]}"))
                    .contains("\"valid\":false", "\"compared\":false", "\"reason\":\"protocol\"");
            assertThat(first.calls("ModelInfer m") + second.calls("ModelInfer m"))
                    .isZero();
        }
    }

    @Test
    void validation_ofAnUnknownModel_isRefused() throws Exception {
        try (Stage stage = gateway("models: {m: {upstream: both}}")) {
            assertThat(validated(stage, "other", "{}")).isEqualTo("{\"error\":\"unknown model 'other'\"}");
        }
    }

    @Test
    void serverWithoutTheModel_doesNotMatter() throws Exception {
        second.with("m", "FP32");
        try (Stage stage = gateway("models: {m: {upstream: both}}")) {
            awaitRefused(stage, "m", "INT64", 2, "input 'x' of model 'm': datatype FP32 is expected, got INT64");
        }
    }
}

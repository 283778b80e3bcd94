package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.TraceSettingRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names that a server would read as another path are rejected by the gateway, over either protocol. */
class NamesTest {
    private static final String RESPONSE =
            "{\"model_name\":\"versioned\",\"outputs\":[{\"name\":\"o\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[7]}]}";

    /** A REST server that decodes a path before splitting it, as MLServer does, and records the segments. */
    private static final class Decoding implements AutoCloseable {
        final BlockingQueue<String> paths = new LinkedBlockingQueue<>();
        final FakeRestServer server;

        Decoding() throws Exception {
            server = FakeRestServer.that((request, out) -> {
                if (request.head().startsWith("POST /v2/models/")) {
                    paths.add(URLDecoder.decode(request.head().split(" ", -1)[1], StandardCharsets.UTF_8));
                }
                FakeRestServer.write(out, ok(RESPONSE));
                return true;
            });
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    /** The route is pinned to the model's first version, with a rate limit of one request per second. */
    private static Stage stage(Decoding upstream) throws Exception {
        ModelConfig.Rate once = new ModelConfig.Rate(null, false, 1, null, Duration.ofSeconds(1));
        ModelConfig pinned = TestConfigs.with(ModelConfig.of("ml"), Map.of("version", "v1", "rates", List.of(once)));
        return FleetStage.fleet(
                Map.of("ml", Stage.rest(upstream.server, ServerDialect.MLSERVER)),
                Map.of("versioned", pinned),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                "ml");
    }

    private static Status ask(Stage stage, String method, MessageLite request) throws Exception {
        return GrpcClient.ask(stage.channel(), method, new Metadata(), request.toByteArray())
                .status();
    }

    private static void refused(Status status, String named) {
        assertThat(status.getCode()).as(named).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(status.getDescription()).startsWith(named);
    }

    @Test
    void nameWithAPath_getsPastNeitherRouteNorVersionNorRate() throws Exception {
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream)) {
            for (int i = 0; i < 3; i++) {
                refused(
                        ask(stage, "ModelInfer", Infer.request("versioned/versions/v2", "a", 7)),
                        "model name 'versioned/versions/v2': ");
            }
            assertThat(ask(stage, "ModelInfer", Infer.request("versioned", "a", 7))
                            .getCode())
                    .isEqualTo(Status.Code.OK);
            assertThat(upstream.paths).containsExactly("/v2/models/versioned/versions/v1/infer");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"../x", "a\r\nb", "a\0b", "..", "a%2Fversions%2F2", "a\\b", ""})
    void name_isRefusedByEveryMethod(String name) throws Exception {
        Map<String, MessageLite> requests = Map.of(
                "ModelInfer",
                Infer.request(name, "a", 7),
                "ModelReady",
                ModelReadyRequest.newBuilder().setName(name).build(),
                "ModelMetadata",
                ModelMetadataRequest.newBuilder().setName(name).build(),
                "ModelConfig",
                ModelConfigRequest.newBuilder().setName(name).build(),
                "RepositoryModelLoad",
                RepositoryModelLoadRequest.newBuilder().setModelName(name).build(),
                "RepositoryModelUnload",
                RepositoryModelUnloadRequest.newBuilder().setModelName(name).build());
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream)) {
            for (Map.Entry<String, MessageLite> each : requests.entrySet()) {
                refused(ask(stage, each.getKey(), each.getValue()), "model name '");
            }
            assertThat(upstream.paths).isEmpty();
        }
    }

    @Test
    void versionAndNameOfAnExtension_areRefusedAlike() throws Exception {
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream)) {
            refused(
                    ask(
                            stage,
                            "ModelInfer",
                            Infer.request("m", "a", 7).toBuilder()
                                    .setModelVersion("1/../../x")
                                    .build()),
                    "model version '1/../../x': ");
            refused(
                    ask(
                            stage,
                            "ModelReady",
                            ModelReadyRequest.newBuilder()
                                    .setName("m")
                                    .setVersion("..")
                                    .build()),
                    "model version '..': ");
            refused(
                    ask(
                            stage,
                            "ModelStatistics",
                            ModelStatisticsRequest.newBuilder().setName("a/b").build()),
                    "model name 'a/b': ");
            refused(
                    ask(
                            stage,
                            "TraceSetting",
                            TraceSettingRequest.newBuilder().setModelName("a/b").build()),
                    "model name 'a/b': ");
        }
    }

    @Test
    void nameInAStream_failsItsMessageAlone() throws Exception {
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream)) {
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelStreamInfer")
                    .send(Infer.request("versioned/versions/v2", "bad", 7).toByteArray())
                    .send(Infer.request("versioned", "good", 7).toByteArray());
            client.end();
            assertThat(Infer.envelope(client.response()).getErrorMessage())
                    .startsWith("model name 'versioned/versions/v2': ");
            Infer.envelope(client.response());
            assertThat(upstream.paths).containsExactly("/v2/models/versioned/versions/v1/infer_stream");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "models/versioned%2Fversions%2Fv2/infer",
                "models/m/versions/1%2F..%2F..%2Fx/infer",
                "models/%2E%2E/infer",
                "models/a%252Fb/infer",
                "models/a%0D%0Ab/infer",
                "models/a%C2%85b/infer",
                "models//infer",
                "models/versioned/versions//infer",
                "repository/a%2Fb/index",
                "systemsharedmemory/region/a%5Cb/register"
            })
    void path_isRefusedOverRest(String path) throws Exception {
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream);
                Http1Client http = stage.http1()) {
            Http1Client.Response response =
                    http.post("/v2/" + path, Infer.json("a", 7)).response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.text()).contains("': 1 to 255 bytes are expected");
            assertThat(upstream.paths).isEmpty();
        }
    }

    @Test
    void safeNameWithOddCharacters_reachesTheServerAsOneSegment() throws Exception {
        try (Decoding upstream = new Decoding();
                Stage stage = stage(upstream)) {
            assertThat(ask(stage, "ModelInfer", Infer.request("my modèle:8b;@+?#", "a", 7))
                            .getCode())
                    .isEqualTo(Status.Code.OK);
            assertThat(upstream.paths).hasSize(1);
        }
    }
}

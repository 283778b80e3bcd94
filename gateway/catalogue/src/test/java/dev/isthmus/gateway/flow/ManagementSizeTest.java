package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Operations other than inference have a small size limit of their own, checked before the body is read. */
class ManagementSizeTest {
    private static final int LIMIT = 64 << 10;
    private static final List<String> GETS = List.of("/v2/health/live", "/v2", "/v2/models/m", "/v2/models/m/ready");
    private static final List<String> POSTS = List.of(
            "/v2/repository/index",
            "/v2/repository/models/m/unload",
            "/v2/logging",
            "/v2/trace/setting",
            "/v2/systemsharedmemory/region/r/register",
            "/v2/cudasharedmemory/region/r/register");
    private static final List<String> METHODS = List.of(
            "ServerLive",
            "ServerMetadata",
            "ModelReady",
            "ModelMetadata",
            "RepositoryIndex",
            "RepositoryModelUnload",
            "LogSettings",
            "TraceSetting",
            "ModelConfig",
            "ModelStatistics",
            "SystemSharedMemoryRegister");

    private static FakeRestServer server() throws Exception {
        return FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, FakeRestServer.ok("{}"));
            return true;
        });
    }

    @Test
    void rest_beyondTheLimit_isRefusedByItsLength() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = FleetStage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            for (String path : GETS) {
                refused(stage, "GET " + path);
            }
            for (String path : POSTS) {
                refused(stage, "POST " + path);
            }
        }
    }

    /** The body is not sent. */
    private static void refused(Stage stage, String what) throws Exception {
        try (Http1Client client = stage.http1()) {
            var response = client.send(what + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + (LIMIT + 1) + "\r\n\r\n")
                    .response();
            assertThat(response.status()).as(what).isEqualTo(413);
            assertThat(response.text()).as(what).contains("request body: at most 65536 bytes are accepted, got 65537");
        }
    }

    @Test
    void restLoad_mayBeLarge() throws Exception {
        String body = "{\"parameters\":{\"file:1/model.onnx\":\"" + "A".repeat(4 * LIMIT) + "\"}}";
        try (FakeRestServer server = server();
                Stage stage = FleetStage.of(Stage.rest(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            assertThat(client.post("/v2/repository/models/m/load", body)
                            .response()
                            .status())
                    .isEqualTo(200);
        }
    }

    @Test
    void grpc_beyondTheLimit_isRefusedByItsPrefix() throws Exception {
        try (Stage stage = FleetStage.local()) {
            for (String method : METHODS) {
                Status status = GrpcClient.ask(stage.channel(), method, new Metadata(), new byte[LIMIT + 1])
                        .status();
                assertThat(status.getCode()).as(method).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
                assertThat(status.getDescription())
                        .contains("gRPC message: at most 65536 bytes are accepted, got 65537");
            }
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Message;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The management extensions between clients and servers of either protocol. */
class ManageTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    static final List<ManageCase> CASES = ManageCase.ALL;

    private static Stage stage(UpstreamProtocol protocol, Endpoint endpoint) throws Exception {
        return FleetStage.of(Stage.upstream(protocol, endpoint, ServerDialect.TRITON, BinaryTensorData.FALSE, true));
    }

    private static FakeGrpcServer grpc(byte[] response) throws Exception {
        return new FakeGrpcServer((call, message) -> call.sendMessage(response));
    }

    /** Ignores the gateway's own requests. */
    private static FakeRestServer rest(ManageCase operation, String response) throws Exception {
        return FakeRestServer.that((request, out) -> {
            boolean ours = request.head().startsWith(operation.http() + " ");
            FakeRestServer.write(out, FakeRestServer.ok(ours ? response : "{}"));
            return true;
        });
    }

    private static FakeRestServer.RestRequest seen(FakeRestServer server, ManageCase operation) throws Exception {
        FakeRestServer.RestRequest seen = server.request();
        while (seen.head().contains(" /v2/health/") || seen.head().contains(" /v2 ")) {
            seen = server.request();
        }
        assertThat(seen.head()).startsWith(operation.http() + " ");
        return seen;
    }

    private static Http1Client.Response ask(Stage stage, ManageCase operation) throws Exception {
        try (Http1Client client = stage.http1()) {
            return (operation.httpMethod().equals("GET")
                            ? client.get(operation.path())
                            : client.post(operation.path(), operation.json()))
                    .response();
        }
    }

    private static void expectJson(String actual, String expected) throws Exception {
        if (expected.isEmpty()) {
            assertThat(actual).isEmpty();
        } else {
            assertThat(JSON.readTree(actual)).isEqualTo(JSON.readTree(expected));
        }
    }

    private static Message parsed(Message like, byte[] bytes) throws Exception {
        return like.newBuilderForType().mergeFrom(bytes).build();
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void restClient_grpcServer(ManageCase operation) throws Exception {
        try (FakeGrpcServer server = grpc(operation.responseMessage().toByteArray());
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint())) {
            Http1Client.Response response = ask(stage, operation);
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            expectJson(response.text(), operation.responseJson());
            assertThat(FakeGrpcServer.next(server.opened).method()).isEqualTo(operation.method());
            assertThat(parsed(operation.requestMessage(), FakeGrpcServer.next(server.messages)))
                    .isEqualTo(operation.requestMessage());
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void grpcClient_restServer(ManageCase operation) throws Exception {
        try (FakeRestServer server = rest(operation, operation.responseJson());
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint())) {
            GrpcClient client = GrpcClient.ask(
                    stage.channel(),
                    operation.method(),
                    new Metadata(),
                    operation.requestMessage().toByteArray());
            assertThat(parsed(operation.responseMessage(), client.response())).isEqualTo(operation.responseMessage());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            expectJson(seen(server, operation).body(), operation.json());
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void restClient_restServer_bytesStayAsTheyAre(ManageCase operation) throws Exception {
        String response = operation.responseJson() + " ";
        try (FakeRestServer server = rest(operation, response);
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint())) {
            assertThat(ask(stage, operation).text()).isEqualTo(response);
            assertThat(seen(server, operation).body()).isEqualTo(operation.json());
        }
    }

    @ParameterizedTest
    @FieldSource("CASES")
    void grpcClient_grpcServer_bytesStayAsTheyAre(ManageCase operation) throws Exception {
        byte[] request = operation.requestMessage().toByteArray();
        byte[] response = operation.responseMessage().toByteArray();
        try (FakeGrpcServer server = grpc(response);
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint())) {
            GrpcClient client = GrpcClient.ask(stage.channel(), operation.method(), new Metadata(), request);
            assertThat(client.response()).isEqualTo(response);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(FakeGrpcServer.next(server.messages)).isEqualTo(request);
        }
    }

    private static byte[] kserves(String model) {
        return RepositoryModelLoadRequest.newBuilder()
                .setRepositoryName(model)
                .build()
                .toByteArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Load", "Unload"})
    void kservesClient_isUnderstood_andGetsItsResponse(String verb) throws Exception {
        try (FakeGrpcServer server = grpc(new byte[0]);
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint())) {
            GrpcClient client = GrpcClient.ask(stage.channel(), "RepositoryModel" + verb, new Metadata(), kserves("m"));
            assertThat(RepositoryModelLoadResponse.parseFrom(client.response()))
                    .isEqualTo(RepositoryModelLoadResponse.newBuilder()
                            .setModelName("m")
                            .setIsLoaded(true)
                            .build());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            // What Triton reads: it refuses a request with a repository.
            assertThat(RepositoryModelLoadRequest.parseFrom(FakeGrpcServer.next(server.messages)))
                    .isEqualTo(RepositoryModelLoadRequest.newBuilder()
                            .setModelName("m")
                            .build());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Load", "Unload"})
    void kservesServer_getsTheNameInTheFirstField(String verb) throws Exception {
        byte[] tritons = RepositoryModelLoadRequest.newBuilder()
                .setModelName("m")
                .build()
                .toByteArray();
        try (FakeGrpcServer server = grpc(new byte[0]);
                Stage stage = FleetStage.routing(
                        Map.of("server", Stage.grpc(server, ServerDialect.KSERVE)), Map.of("m", "server"), null);
                Http1Client rest = stage.http1()) {
            String method = "RepositoryModel" + verb;
            GrpcClient.ask(stage.channel(), method, new Metadata(), tritons).response();
            assertThat(nameForKServe(server)).isEqualTo("m");
            GrpcClient.ask(stage.channel(), method, new Metadata(), kserves("m"))
                    .response();
            assertThat(nameForKServe(server)).isEqualTo("m");
            rest.post("/v2/repository/models/m/" + verb.toLowerCase(Locale.ROOT), "{}")
                    .response();
            assertThat(nameForKServe(server)).isEqualTo("m");
        }
    }

    private static String nameForKServe(FakeGrpcServer server) throws Exception {
        return RepositoryModelLoadRequest.parseFrom(FakeGrpcServer.next(server.messages))
                .getRepositoryName();
    }

    @Test
    void sharedMemory_notConfigured_isRefused() throws Exception {
        try (FakeGrpcServer grpc = grpc(new byte[0]);
                Stage stage = FleetStage.of(Stage.grpc(grpc, ServerDialect.TRITON))) {
            for (ManageCase operation : CASES) {
                if (operation.method().contains("SharedMemory")) {
                    Http1Client.Response response = ask(stage, operation);
                    assertThat(response.status()).isEqualTo(400);
                    assertThat(response.text())
                            .isEqualTo("{\"error\":\"shared memory is not enabled for upstream 'server'\"}");
                    Status status = GrpcClient.ask(
                                    stage.channel(),
                                    operation.method(),
                                    new Metadata(),
                                    operation.requestMessage().toByteArray())
                            .status();
                    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
                }
            }
            assertThat(grpc.opened).isEmpty();
        }
    }

    @Test
    void settingsOfTheServer_withoutADefaultUpstream_areUnimplemented() throws Exception {
        try (FakeGrpcServer grpc = grpc(new byte[0]);
                Stage stage = FleetStage.routing(
                        Map.of("server", Stage.grpc(grpc, ServerDialect.TRITON)), Map.of("m", "server"), null)) {
            Http1Client.Response response = ask(stage, new ManageCase("GET /v2/logging", "", "", "", "", ""));
            assertThat(response.status()).isEqualTo(501);
            assertThat(response.text()).contains("requires a default upstream");
            assertThat(grpc.opened).isEmpty();
        }
    }

    @Test
    void localModels_haveNoTracesAndNoLogs() throws Exception {
        try (Stage stage = FleetStage.local()) {
            assertThat(ask(stage, new ManageCase("GET /v2/models/simple/trace/setting", "", "", "", "", ""))
                            .status())
                    .isEqualTo(501);
            assertThat(ask(stage, new ManageCase("GET /v2/logging", "", "", "", "", ""))
                            .status())
                    .isEqualTo(501);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            /v2/repository/index           | {"ready":
            /v2/repository/index           | []
            /v2/repository/models/m/load   | {"parameters":{"a":1.5}}
            /v2/repository/models/m/load   | {"parameters":{"file:a":"no base64!"}}
            /v2/repository/models/m/load   | {"parameters":{"a":9223372036854775808}}
            /v2/logging                    | {"log_verbose_level":4294967296}
            /v2/logging                    | {"log_verbose_level":-1}
            /v2/logging                    | {"log_verbose_level":[1]}
            """)
    void restClient_malformed_isRefused(String path, String body) throws Exception {
        try (FakeGrpcServer server = grpc(new byte[0]);
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint());
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post(path, body).response();
            assertThat(response.status()).as(response.text()).isEqualTo(400);
            assertThat(server.opened).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"GRPC", "REST"})
    void restClient_malformedIndex_isRefusedAlikeForEveryServer(UpstreamProtocol protocol) throws Exception {
        ManageCase index = new ManageCase("POST /v2/repository/index", "", "RepositoryIndex", "", "", "");
        try (FakeGrpcServer grpc = grpc(new byte[0]);
                FakeRestServer rest = rest(index, "[]");
                Stage stage = stage(protocol, protocol == UpstreamProtocol.GRPC ? grpc.endpoint() : rest.endpoint());
                Http1Client client = stage.http1()) {
            for (String value : List.of("{}", "1", "\"true\"")) {
                Http1Client.Response refused = client.post("/v2/repository/index", "{\"ready\":" + value + "}")
                        .response();
                assertThat(refused.status()).isEqualTo(400);
                assertThat(JSON.readTree(refused.text()).path("error").asText())
                        .isEqualTo("'ready': true or false is expected, got " + value);
            }
            for (String body : List.of("{\"ready\":null}", "{\"ready\":true}", "{}", "")) {
                assertThat(client.post("/v2/repository/index", body).response().text())
                        .isEqualTo("[]");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            404 | {"detail":"Not Found"}                       | UNIMPLEMENTED
            404 | {"error":"Not Found"}                        | UNIMPLEMENTED
            405 | {"detail":"Method Not Allowed"}              | UNIMPLEMENTED
            404 | {"error":"Request for unknown model: 'm'"}   | NOT_FOUND
            """)
    void grpcClient_restServerWithoutThePath_isUnimplemented(int status, String text, Status.Code code)
            throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    String failed =
                            "HTTP/1.1 " + status + " No\r\nContent-Length: " + text.length() + "\r\n\r\n" + text;
                    boolean ours = request.head().contains("/config ");
                    FakeRestServer.write(out, ours ? failed : FakeRestServer.ok("{}"));
                    return true;
                });
                Stage stage = stage(UpstreamProtocol.REST, server.endpoint())) {
            byte[] request =
                    ModelConfigRequest.newBuilder().setName("m").build().toByteArray();
            assertThat(GrpcClient.ask(stage.channel(), "ModelConfig", new Metadata(), request)
                            .status()
                            .getCode())
                    .isEqualTo(code);
        }
    }

    @Test
    void restClient_nullOrNothing_isNoSetting() throws Exception {
        try (FakeGrpcServer server = grpc(new byte[0]);
                Stage stage = stage(UpstreamProtocol.GRPC, server.endpoint());
                Http1Client client = stage.http1()) {
            assertThat(client.post("/v2/logging", "{\"log_file\":null}")
                            .response()
                            .status())
                    .isEqualTo(200);
            ManageCase unset = new ManageCase("", "", "LogSettings", "settings { key: 'log_file' value { } }", "", "");
            assertThat(parsed(unset.requestMessage(), FakeGrpcServer.next(server.messages)))
                    .isEqualTo(unset.requestMessage());
            assertThat(client.post("/v2/repository/index", "").response().status())
                    .isEqualTo(200);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"model_stats\":[{\"inference_count\":\"x\"}]}", "{\"model_st", "[1]x"})
    void server_sendsWhatIsNoResponse_isItsFault(String response) throws Exception {
        ManageCase stats = new ManageCase("GET /v2/models/m/stats", "", "ModelStatistics", "name: 'm'", "", "");
        try (FakeRestServer rest = rest(stats, response);
                FakeGrpcServer grpc = grpc(new byte[] {0x0a, 0x7f});
                Stage toRest = stage(UpstreamProtocol.REST, rest.endpoint());
                Stage toGrpc = stage(UpstreamProtocol.GRPC, grpc.endpoint())) {
            Status status = GrpcClient.ask(
                            toRest.channel(),
                            "ModelStatistics",
                            new Metadata(),
                            stats.requestMessage().toByteArray())
                    .status();
            assertThat(status.getCode()).isEqualTo(Status.Code.INTERNAL);
            assertThat(status.getDescription()).contains("violates the protocol");
            assertThat(ask(toGrpc, stats).status()).isEqualTo(502);
        }
    }
}

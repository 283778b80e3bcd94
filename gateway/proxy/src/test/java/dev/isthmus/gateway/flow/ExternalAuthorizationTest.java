package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.authz.AttributeContext;
import dev.isthmus.proto.authz.CheckRequest;
import dev.isthmus.proto.authz.CheckResponse;
import dev.isthmus.proto.authz.DeniedHttpResponse;
import dev.isthmus.proto.authz.HttpStatus;
import dev.isthmus.proto.authz.RpcStatus;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Calls that a service with Envoy's ext_authz decides about, whatever it does. */
class ExternalAuthorizationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String INFER = "/v2/models/m/infer";
    private static final String KEY = "key-of-alice";

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            listeners: [{port: 0}]
            upstreams: {server: {protocol: grpc, dialect: triton, endpoints: ["127.0.0.1:%d"]}}
            default_upstream: server
            health: {warm_up: 0s}
            external_authorization:
              endpoints: [%s]
            """;

    private static final CheckResponse ALLOWED =
            CheckResponse.newBuilder().setStatus(RpcStatus.newBuilder()).build();
    private static final CheckResponse REFUSED = refused(7, 0);

    @TempDir
    Path folder = Path.of(".");

    private final BlockingQueue<CheckRequest> questions = new LinkedBlockingQueue<>();
    private final BlockingQueue<ServerCall<byte[], byte[]>> open = new LinkedBlockingQueue<>();
    private volatile BiConsumer<CheckRequest, ServerCall<byte[], byte[]>> behaviour = answering(ALLOWED);
    private FakeGrpcServer server;
    private Server service;

    @BeforeEach
    void start() throws IOException {
        server = new FakeGrpcServer((call, message) -> call.sendMessage(
                call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer")
                        ? Infer.enveloped(Infer.responseTo(Infer.request(message), 7))
                        : Infer.responseTo(Infer.request(message), 7).toByteArray()));
        MethodDescriptor<byte[], byte[]> check = MethodDescriptor.newBuilder(
                        new FakeGrpcServer.Bytes(), new FakeGrpcServer.Bytes())
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("envoy.service.auth.v3.Authorization/Check")
                .build();
        service = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .directExecutor()
                .addService(ServerServiceDefinition.builder("envoy.service.auth.v3.Authorization")
                        .addMethod(check, (call, headers) -> {
                            call.request(2);
                            return new ServerCall.Listener<>() {
                                @Override
                                public void onMessage(byte[] message) {
                                    CheckRequest question = parsed(message);
                                    questions.add(question);
                                    behaviour.accept(question, call);
                                }
                            };
                        })
                        .build())
                .build()
                .start();
    }

    @AfterEach
    void stop() {
        server.close();
        service.shutdownNow();
        await().atMost(PATIENCE).until(service::isTerminated);
    }

    private static CheckRequest parsed(byte[] message) {
        try {
            return CheckRequest.parseFrom(message);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static CheckResponse refused(int code, int httpStatus) {
        CheckResponse.Builder response =
                CheckResponse.newBuilder().setStatus(RpcStatus.newBuilder().setCode(code));
        if (httpStatus > 0) {
            response.setDeniedResponse(DeniedHttpResponse.newBuilder()
                    .setStatus(HttpStatus.newBuilder().setCode(httpStatus)));
        }
        return response.build();
    }

    private static CheckResponse lasting(CheckResponse answer, double seconds) {
        Value value = Value.newBuilder().setNumberValue(seconds).build();
        return answer.toBuilder()
                .setDynamicMetadata(Struct.newBuilder().putFields("cache_seconds", value))
                .build();
    }

    private static BiConsumer<CheckRequest, ServerCall<byte[], byte[]>> answering(CheckResponse answer) {
        return (question, call) -> FakeGrpcServer.respond(call, answer.toByteArray());
    }

    /** @param more keys of the section, and further sections */
    private Stage stage(String more) throws Exception {
        return stage("\"127.0.0.1:" + service.getPort() + "\"", more);
    }

    private Stage stage(String endpoints, String more) throws Exception {
        String patient = more.contains("timeout") ? "" : "  timeout: 10s\n";
        String yaml = CONFIG.formatted(server.port(), endpoints) + patient + more;
        return Stage.with(ConfigLoader.parse("test.yaml", yaml, folder));
    }

    private static Http1Client.Response infer(Stage stage, String... headers) throws IOException {
        try (Http1Client client = stage.http1()) {
            return client.post(INFER, Infer.json("i", 1), headers).response();
        }
    }

    private static GrpcClient grpc(Stage stage) {
        return GrpcClient.ask(
                stage.channel(),
                "ModelInfer",
                new Metadata(),
                Infer.request("m", "i", 1).toByteArray());
    }

    private static double count(Stage stage, String result) {
        return stage.proxy()
                .meters()
                .get("isthmus.external.authorization")
                .tag("result", result)
                .counter()
                .count();
    }

    @Test
    void requestThatHasWaited_isInThePayloadLog() throws Exception {
        try (Stage stage = stage("payload_log: {file: payloads.jsonl}\n")) {
            assertThat(infer(stage).status()).isEqualTo(200);
            assertThat(grpc(stage).status().isOk()).isTrue();
        }
        assertThat(Files.readAllLines(folder.resolve("payloads.jsonl")))
                .hasSize(4)
                .allSatisfy(event -> assertThat(event).contains("\"data\":{").doesNotContain("dataomitted"));
    }

    /** Its route is known only when it may pass. */
    @Test
    void callThatHasWaited_isNotUnderWayAfterItsEnd() throws Exception {
        try (Stage stage = stage("")) {
            for (CheckResponse answer : List.of(ALLOWED, REFUSED)) {
                behaviour = answering(answer);
                infer(stage);
                await().atMost(PATIENCE)
                        .untilAsserted(() -> assertThat(stage.proxy()
                                        .meters()
                                        .get("isthmus.model.requests.under.way")
                                        .gauges())
                                .isNotEmpty()
                                .allSatisfy(gauge -> assertThat(gauge.value()).isZero()));
            }
        }
    }

    @Test
    void service_getsHeadModelOperationAndCaller() throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(KEY.getBytes(StandardCharsets.UTF_8));
        Path keys = Files.writeString(folder.resolve("keys"), ApiKeyFile.line("alice", digest) + " science\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-------"));
        try (Stage stage = stage("  headers: [x-team]\nauthentication: {api_keys: {file: keys}}\n")) {
            assertThat(infer(stage, "X-Api-Key: " + KEY, "X-Team: blue", "X-Other: 1")
                            .status())
                    .isEqualTo(200);
            AttributeContext context = FakeGrpcServer.next(questions).getAttributes();
            AttributeContext.HttpRequest http = context.getRequest().getHttp();
            assertThat(http.getMethod()).isEqualTo("POST");
            assertThat(http.getPath()).isEqualTo(INFER);
            assertThat(http.getHost()).isNotEmpty();
            assertThat(http.getId()).isNotEmpty();
            assertThat(http.getHeadersMap()).containsOnly(Map.entry("x-team", "blue"));
            assertThat(context.getSource().getPrincipal()).isEqualTo("alice");
            assertThat(context.getSource().getAddress().getSocketAddress().getAddress())
                    .isEqualTo("127.0.0.1");
            assertThat(context.getContextExtensionsMap())
                    .containsEntry("model", "m")
                    .containsEntry("version", "")
                    .containsEntry("operation", "infer")
                    .containsEntry("permission", "infer")
                    .containsEntry("caller", "alice")
                    .containsEntry("issuer", "");
            assertThat(context.getMetadataContext()
                            .getFilterMetadataOrThrow("isthmus")
                            .getFieldsOrThrow("groups")
                            .getListValue()
                            .getValuesList())
                    .extracting(Value::getStringValue)
                    .containsExactly("science");
            Metadata metadata = new Metadata();
            metadata.put(Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER), KEY);
            byte[] request = Infer.request("m", "i", 1).toByteArray();
            assertThat(GrpcClient.ask(stage.channel(), "ModelInfer", metadata, request)
                            .status()
                            .getCode())
                    .isEqualTo(Status.Code.OK);
            AttributeContext overGrpc = FakeGrpcServer.next(questions).getAttributes();
            assertThat(overGrpc.getRequest().getHttp().getPath())
                    .isEqualTo("/inference.GRPCInferenceService/ModelInfer");
            assertThat(overGrpc.getContextExtensionsMap()).containsEntry("model", "m");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "7, 0, 403, PERMISSION_DENIED",
        "7, 403, 403, PERMISSION_DENIED",
        "16, 0, 401, UNAUTHENTICATED",
        "7, 401, 401, UNAUTHENTICATED",
        "7, 404, 404, NOT_FOUND",
        "8, 429, 429, RESOURCE_EXHAUSTED",
        "7, 200, 403, PERMISSION_DENIED",
        "7, 503, 403, PERMISSION_DENIED",
        "-1, 999, 403, PERMISSION_DENIED"
    })
    void refusal_endsTheCall(int code, int httpStatus, int rest, Status.Code grpc) throws Exception {
        behaviour = answering(refused(code, httpStatus));
        try (Stage stage = stage("  on_failure: allow\n")) {
            Http1Client.Response response = infer(stage);
            assertThat(response.status()).isEqualTo(rest);
            assertThat(response.text()).isEqualTo("{\"error\":\"the call is refused by the authorization service\"}");
            assertThat(grpc(stage).status().getCode()).isEqualTo(grpc);
            assertThat(server.messages).isEmpty();
            assertThat(count(stage, "refused")).isEqualTo(2);
        }
    }

    @Test
    void serviceThatNeverAnswers_isNotWaitedFor() throws Exception {
        behaviour = (question, call) -> open.add(call);
        try (Stage stage = stage("  timeout: 100ms\n")) {
            expectUnanswered(stage);
            // The questions are taken back; some may not be sent in so short a time.
            await().atMost(PATIENCE).until(() -> {
                if (open.size() < 2) {
                    infer(stage);
                }
                return open.size() >= 2 && open.stream().allMatch(ServerCall::isCancelled);
            });
        }
    }

    private void expectUnanswered(Stage stage) throws Exception {
        double before = count(stage, "failed");
        Http1Client.Response response = infer(stage);
        assertThat(response.status()).isEqualTo(503);
        assertThat(response.text()).isEqualTo("{\"error\":\"the call cannot be authorized now\"}");
        assertThat(response.head().headers()).containsEntry("retry-after", "1");
        assertThat(grpc(stage).status().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(server.messages).isEmpty();
        assertThat(count(stage, "failed")).isEqualTo(before + 2);
    }

    @Test
    void answersThatAreNone_refuseTheCall_andTheNextIsAsked() throws Exception {
        List<BiConsumer<CheckRequest, ServerCall<byte[], byte[]>>> bad = List.of(
                (question, call) -> FakeGrpcServer.respond(call, new byte[10 << 20]),
                (question, call) -> FakeGrpcServer.respond(call, new byte[0]),
                (question, call) -> FakeGrpcServer.respond(call, "no protobuf".getBytes(StandardCharsets.UTF_8)),
                (question, call) -> call.close(Status.OK, new Metadata()),
                (question, call) -> call.close(Status.PERMISSION_DENIED, new Metadata()),
                (question, call) -> call.close(Status.UNIMPLEMENTED, new Metadata()));
        try (Stage stage = stage("")) {
            for (BiConsumer<CheckRequest, ServerCall<byte[], byte[]>> each : bad) {
                behaviour = each;
                expectUnanswered(stage);
            }
            behaviour = answering(ALLOWED);
            assertThat(infer(stage).status()).isEqualTo(200);
        }
    }

    @Test
    void onFailure_allow_letsCallsPass() throws Exception {
        behaviour = (question, call) -> call.close(Status.INTERNAL, new Metadata());
        try (Stage stage = stage("  on_failure: allow\n")) {
            assertThat(infer(stage).status()).isEqualTo(200);
            assertThat(grpc(stage).status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(count(stage, "failed")).isEqualTo(2);
        }
    }

    @Test
    void deadlineOfTheClient_thatPassesBeforeTheAnswer_letsNoCallPass() throws Exception {
        String cached = "models: {m: {upstream: server, cache: {ttl: 10m}}}\n";
        try (Stage stage = stage("  on_failure: allow\n" + cached);
                Http1Client client = stage.http1()) {
            assertThat(infer(stage).status()).isEqualTo(200);
            behaviour = (question, call) -> {};
            client.post(INFER, Infer.json("i", 1), "X-Request-Timeout-Ms: 1");
            assertThat(client.response().status()).isEqualTo(504);
        }
    }

    @Test
    void serverThatCannotBeReached_leavesItToTheNext() throws Exception {
        int free = TestConfigs.unusedEndpoint().port();
        String both = "\"127.0.0.1:" + free + "\", \"localhost:" + service.getPort() + "\"";
        try (Stage stage = stage(both, "")) {
            await().atMost(PATIENCE).until(() -> infer(stage).status() == 200);
            for (int i = 0; i < 4; i++) {
                assertThat(infer(stage).status()).isEqualTo(200);
            }
        }
        try (Stage stage = stage("\"127.0.0.1:" + free + "\"", "")) {
            assertThat(infer(stage).status()).isEqualTo(503);
        }
    }

    @Test
    void answer_isKeptAsLongAsItSays() throws Exception {
        try (Stage stage = stage("  headers: [x-team]\n")) {
            for (CheckResponse each : List.of(ALLOWED, lasting(ALLOWED, 0), lasting(ALLOWED, -1))) {
                behaviour = answering(each);
                infer(stage);
                infer(stage);
            }
            assertThat(questions).hasSize(6);
            behaviour = answering(lasting(ALLOWED, 600));
            for (int i = 0; i < 3; i++) {
                assertThat(infer(stage).status()).isEqualTo(200);
            }
            assertThat(questions).hasSize(7);
            assertThat(count(stage, "kept")).isEqualTo(2);
            // Another question, over another protocol or with another header, gets its own answer.
            behaviour = answering(lasting(REFUSED, 600));
            for (int i = 0; i < 2; i++) {
                assertThat(infer(stage, "x-team: red").status()).isEqualTo(403);
                assertThat(grpc(stage).status().getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
                assertThat(infer(stage).status()).isEqualTo(200);
            }
            assertThat(questions).hasSize(9);
        }
    }

    @Test
    void answerThatDoesNotSay_isKeptAsConfigured() throws Exception {
        try (Stage stage = stage("  cache: 10m\n")) {
            infer(stage);
            infer(stage);
            assertThat(questions).hasSize(1);
            behaviour = answering(lasting(ALLOWED, 0));
            for (int i = 0; i < 2; i++) {
                assertThat(grpc(stage).status().getCode()).isEqualTo(Status.Code.OK);
            }
            assertThat(questions).hasSize(3);
        }
    }

    @Test
    void failure_isNotKept() throws Exception {
        behaviour = (question, call) -> call.close(Status.INTERNAL, new Metadata());
        try (Stage stage = stage("  cache: 10m\n")) {
            assertThat(infer(stage).status()).isEqualTo(503);
            behaviour = answering(ALLOWED);
            assertThat(infer(stage).status()).isEqualTo(200);
        }
    }

    @Test
    void questionsUnderWay_areLimited() throws Exception {
        behaviour = (question, call) -> open.add(call);
        try (Stage stage = stage("  max_requests: 1\n");
                Http1Client first = stage.http1()) {
            first.post(INFER, Infer.json("i", 1));
            ServerCall<byte[], byte[]> waiting = FakeGrpcServer.next(open);
            assertThat(infer(stage).status()).isEqualTo(503);
            FakeGrpcServer.respond(waiting, ALLOWED.toByteArray());
            assertThat(first.response().status()).isEqualTo(200);
            behaviour = answering(ALLOWED);
            assertThat(infer(stage).status()).isEqualTo(200);
        }
    }

    @Test
    void largeRequest_waitsForTheAnswer_andIsReleasedIfTheClientLeaves() throws Exception {
        behaviour = (question, call) -> open.add(call);
        String body = Infer.json("i", 1).replace("\"inputs\"", "\"id2\":\"" + "x".repeat(1 << 20) + "\",\"inputs\"");
        try (Stage stage = stage("")) {
            try (Http1Client client = stage.http1()) {
                client.post(INFER, body);
                FakeGrpcServer.respond(FakeGrpcServer.next(open), REFUSED.toByteArray());
                assertThat(client.response().status()).isEqualTo(403);
            }
            ServerCall<byte[], byte[]> left;
            try (Http1Client client = stage.http1()) {
                client.post(INFER, body);
                left = FakeGrpcServer.next(open);
            }
            FakeGrpcServer.respond(left, ALLOWED.toByteArray());
            behaviour = answering(ALLOWED);
            assertThat(infer(stage).status()).isEqualTo(200);
        }
    }

    @Test
    void eachMessageOfAStream_isAskedAbout() throws Exception {
        behaviour = (question, call) -> FakeGrpcServer.respond(
                call,
                (question.getAttributes().getContextExtensionsOrThrow("model").equals("secret") ? REFUSED : ALLOWED)
                        .toByteArray());
        try (Stage stage = stage("")) {
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelStreamInfer");
            client.send(Infer.request("m", "i", 1).toByteArray());
            assertThat(Infer.envelope(client.response()).getErrorMessage()).isEmpty();
            client.send(Infer.request("secret", "i", 1).toByteArray());
            assertThat(Infer.envelope(client.response()).getErrorMessage())
                    .contains("refused by the authorization service");
            assertThat(questions)
                    .extracting(each -> each.getAttributes().getContextExtensionsOrThrow("model"))
                    .containsExactly("", "m", "secret");
        }
    }

    @Test
    void probes_areNotAskedAbout() throws Exception {
        behaviour = answering(REFUSED);
        try (Stage stage = stage("");
                Http1Client client = stage.http1()) {
            assertThat(client.get("/livez").response().status()).isEqualTo(200);
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            assertThat(questions).isEmpty();
        }
    }
}

package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.identity.TestIssuer;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Callers with API keys and tokens, and what rules let them do, over both protocols. */
class AuthenticationTest {
    /** Three times what the limit allows at once. */
    private static final int BAD_TOKENS = 300;

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final TestIssuer ISSUER = new TestIssuer("");
    private static final String INFER = "/v2/models/m/infer";
    private static final String ALICE = "key-of-alice";
    private static final String BOB = "key-of-bob";
    private static final String AUTHENTICATION = """
            listeners: [{port: 0}]
            upstreams: {server: {protocol: grpc, dialect: triton, endpoints: ["127.0.0.1:PORT"]}}
            default_upstream: server
            headers: {forward: ["x-*", authorization]}
            health: {warm_up: 0s}
            authentication:
              api_keys: {file: keys}
              jwt: {issuer: "https://issuer.example", audiences: [isthmus], jwks_file: jwks.json}
            """;
    private static final String RULES = """
            access:
              rules:
                - {name: alice, who: {names: [alice]}, may: [infer, stream, metadata], models: [m]}
                - {name: science, who: {groups: [science]}, may: [infer, generate], models: ["m*"]}
                - {name: operators, who: {groups: [operators]}, may: [load, health]}
            """;

    @TempDir
    Path folder = Path.of(".");

    private FakeGrpcServer server;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer((call, message) -> call.sendMessage(
                call.getMethodDescriptor().getFullMethodName().endsWith("ModelInfer")
                        ? Infer.responseTo(Infer.request(message), 7).toByteArray()
                        : new byte[0]));
        keys(line("alice", ALICE), line("bob", BOB) + " science");
        write("jwks.json", ISSUER.keys());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private void write(String name, String text) throws IOException {
        Path file = folder.resolve(name + ".new");
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        Files.move(file, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    }

    private void keys(String... lines) throws IOException {
        write("keys", "# callers\n" + String.join("\n", lines) + "\n");
    }

    private static String line(String name, String key) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
        return ApiKeyFile.line(name, digest);
    }

    private Stage stage(String yaml) throws Exception {
        return Stage.with(config(yaml));
    }

    private GatewayConfig config(String yaml) throws Exception {
        return ConfigLoader.parse(
                "test.yaml",
                yaml.replace("PORT", Integer.toString(server.endpoint().port())),
                folder);
    }

    private static Http1Client.Response infer(Stage stage, String... headers) throws IOException {
        try (Http1Client client = stage.http1()) {
            return client.post(INFER, Infer.json("i", 1), headers).response();
        }
    }

    private static String token(String subject) {
        return ISSUER.token(TestIssuer.claims(subject).build());
    }

    private static GrpcClient grpc(Stage stage, String method, String credential, byte[] message) {
        return GrpcClient.ask(stage.channel(), method, metadata(credential), message);
    }

    private static Metadata metadata(String credential) {
        Metadata metadata = new Metadata();
        if (!credential.isEmpty()) {
            metadata.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), credential);
        }
        return metadata;
    }

    private static void expectRefused(Http1Client.Response response, int status, String text) {
        assertThat(response.status()).as(response.text()).isEqualTo(status);
        assertThat(response.text()).isEqualTo("{\"error\":\"" + text + "\"}");
    }

    @Test
    void withoutCredential_isRefused() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            Http1Client.Response rest = infer(stage);
            expectRefused(rest, 401, "a credential is required");
            assertThat(rest.head().headers()).containsEntry("www-authenticate", "Bearer realm=\"isthmus\"");
            GrpcClient grpc =
                    grpc(stage, "ModelInfer", "", Infer.request("m", "i", 1).toByteArray());
            assertThat(grpc.status().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
            assertThat(grpc.trailers().get(Metadata.Key.of("www-authenticate", Metadata.ASCII_STRING_MARSHALLER)))
                    .startsWith("Bearer");
            assertThat(server.messages).isEmpty();
            assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.access.refused")
                            .tag("reason", "missing")
                            .counter()
                            .count())
                    .isEqualTo(2);
        }
    }

    @Test
    void probes_needNoCredential_unlessConfigured() throws Exception {
        try (Stage stage = stage(AUTHENTICATION);
                Http1Client client = stage.http1()) {
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            assertThat(client.get("/livez").response().status()).isEqualTo(200);
            assertThat(client.get("/v2").response().status()).isEqualTo(401);
            assertThat(client.get("/v2/models/m/ready").response().status()).isEqualTo(401);
        }
        try (Stage stage = stage(AUTHENTICATION + "  health: authenticated\n");
                Http1Client client = stage.http1()) {
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(401);
        }
    }

    /** What a layer counts at the end of a call may come after the client's response. */
    private static void awaitTwoOfAlice(Stage stage) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(stage.proxy()
                                .meters()
                                .get("isthmus.principal.requests")
                                .tags("principal", "alice", "result", "ok")
                                .counter()
                                .count())
                        .isEqualTo(2));
    }

    @Test
    void eachCredential_identifiesItsCaller_overBothProtocols() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
            assertThat(infer(stage, "Authorization: Bearer " + ALICE).status()).isEqualTo(200);
            assertThat(infer(stage, "authorization: bearer " + token("carol")).status())
                    .isEqualTo(200);
            byte[] request = Infer.request("m", "i", 1).toByteArray();
            assertThat(grpc(stage, "ModelInfer", "Bearer " + token("carol"), request)
                            .status()
                            .getCode())
                    .isEqualTo(Status.Code.OK);
            awaitTwoOfAlice(stage);
        }
    }

    @Test
    void durations_ofCallers_areThoseOfSuccessfulInferences() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
            try (Http1Client client = stage.http1()) {
                assertThat(client.get("/v2", "X-Api-Key: " + ALICE).response().status())
                        .isEqualTo(200);
            }
            awaitTwoOfAlice(stage);
            Timer durations = stage.proxy()
                    .meters()
                    .get("isthmus.principal.duration")
                    .tag("principal", "alice")
                    .timer();
            assertThat(durations.count()).isEqualTo(1);
            assertThat(durations.totalTime(TimeUnit.NANOSECONDS)).isPositive();
        }
    }

    @Test
    void invalidCredential_isRefused_whateverElseIsSent() throws Exception {
        String expired = ISSUER.token(TestIssuer.claims("carol")
                .expirationTime(Date.from(Instant.now().minusSeconds(60)))
                .build());
        try (Stage stage = stage(AUTHENTICATION)) {
            expectRefused(infer(stage, "X-Api-Key: " + ALICE + "x"), 401, "the credential is not valid");
            expectRefused(
                    infer(stage, "X-Api-Key: " + ALICE, "X-Api-Key: " + ALICE), 401, "the credential is not valid");
            expectRefused(
                    infer(stage, "X-Api-Key: no", "Authorization: Bearer " + token("carol")),
                    401,
                    "the credential is not valid");
            expectRefused(infer(stage, "Authorization: Bearer a.b.c"), 401, "the credential is not valid");
            expectRefused(infer(stage, "Authorization: Bearer " + expired), 401, "the credential has expired");
            expectRefused(infer(stage, "Authorization: Basic YTpi"), 401, "a credential is required");
        }
    }

    @Test
    void credential_isRemoved_andTheNameCannotBeForged() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            assertThat(infer(stage, "X-Api-Key: " + ALICE, "X-Isthmus-Principal: root", "X-Other: 1")
                            .status())
                    .isEqualTo(200);
            Metadata seen = inference();
            assertThat(value(seen, "x-isthmus-principal")).containsExactly("alice");
            assertThat(value(seen, "x-other")).containsExactly("1");
            assertThat(seen.keys()).doesNotContain("x-api-key", "authorization");
            infer(stage, "Authorization: Bearer " + token("caf\u00e9 1"), "x-isthmus-principal: root");
            Metadata other = inference();
            assertThat(value(other, "x-isthmus-principal")).containsExactly("caf%C3%A9%201");
            assertThat(other.keys()).doesNotContain("authorization");
        }
    }

    @Test
    void credential_passesIfConfigured() throws Exception {
        String yaml = AUTHENTICATION + "  forward: {credential: passed, principal_header: x-caller}\n";
        try (Stage stage = stage(yaml)) {
            infer(stage, "X-Api-Key: " + ALICE, "x-caller: root", "x-isthmus-principal: root");
            Metadata seen = inference();
            assertThat(value(seen, "x-api-key")).containsExactly(ALICE);
            assertThat(value(seen, "x-caller")).containsExactly("alice");
            assertThat(seen.keys()).doesNotContain("x-isthmus-principal");
        }
    }

    private Metadata inference() throws InterruptedException {
        FakeGrpcServer.ReceivedCall call = FakeGrpcServer.next(server.opened);
        while (!call.method().equals("ModelInfer")) {
            call = FakeGrpcServer.next(server.opened);
        }
        return call.headers();
    }

    private static List<String> value(Metadata metadata, String name) {
        Iterable<String> all = metadata.getAll(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
        return all == null ? List.of() : List.of(String.join(",", all));
    }

    @Test
    void keys_areReadAgain_andABadFileIsNot() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            keys(line("alice", "next-key"), line("alice", ALICE));
            await().atMost(PATIENCE)
                    .until(() -> infer(stage, "X-Api-Key: next-key").status() == 200);
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
            keys(line("alice", "next-key"));
            await().atMost(PATIENCE)
                    .until(() -> infer(stage, "X-Api-Key: " + ALICE).status() == 401);
            keys("alice in-clear-text");
            await().atMost(PATIENCE)
                    .until(() -> stage.proxy()
                                    .meters()
                                    .find("isthmus.credential.reloads")
                                    .tag("result", "rejected")
                                    .counter()
                            != null);
            assertThat(infer(stage, "X-Api-Key: next-key").status()).isEqualTo(200);
        }
    }

    @Test
    void rules_decideByCallerAndModel() throws Exception {
        try (Stage stage = stage(AUTHENTICATION + RULES);
                Http1Client client = stage.http1()) {
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
            assertThat(infer(stage, "X-Api-Key: " + BOB).status()).isEqualTo(200);
            expectRefused(
                    infer(stage, "Authorization: Bearer " + token("carol")), 403, "permission 'infer' is required");
            assertThat(client.post("/v2/models/other/infer", Infer.json("i", 1), "X-Api-Key: " + ALICE)
                            .response()
                            .status())
                    .isEqualTo(403);
            assertThat(client.post("/v2/models/%6D/infer", Infer.json("i", 1), "X-Api-Key: " + ALICE)
                            .response()
                            .status())
                    .isEqualTo(200);
            byte[] other = Infer.request("other", "i", 1).toByteArray();
            assertThat(grpc(stage, "ModelInfer", "Bearer " + ALICE, other)
                            .status()
                            .getCode())
                    .isEqualTo(Status.Code.PERMISSION_DENIED);
        }
    }

    @Test
    void rules_openManagement_whateverTheListenerSays() throws Exception {
        String operator = ISSUER.token(
                TestIssuer.claims("olga").claim("groups", List.of("operators")).build());
        try (Stage stage = stage(AUTHENTICATION + RULES);
                Http1Client client = stage.http1()) {
            String load = "/v2/repository/models/m/load";
            assertThat(client.post(load, "{}", "X-Api-Key: " + ALICE, "Content-Type: application/json")
                            .response()
                            .status())
                    .isEqualTo(403);
            assertThat(client.post(load, "{}", "Authorization: Bearer " + operator, "Content-Type: application/json")
                            .response()
                            .status())
                    .isEqualTo(200);
            expectRefused(
                    client.post(load, "{}", "Content-Type: application/json").response(),
                    401,
                    "a credential is required");
        }
    }

    private static FakeGrpcServer streaming() throws IOException {
        return new FakeGrpcServer((call, message) -> call.sendMessage(ModelStreamInferResponse.newBuilder()
                .setInferResponse(Infer.responseTo(Infer.request(message), 7))
                .build()
                .toByteArray()));
    }

    private Stage stage(String yaml, FakeGrpcServer of) throws Exception {
        return Stage.with(ConfigLoader.parse(
                "test.yaml", yaml.replace("PORT", Integer.toString(of.endpoint().port())), folder));
    }

    private static GrpcClient stream(Stage stage, String credential) {
        return GrpcClient.open(
                stage.channel(),
                "ModelStreamInfer",
                metadata("Bearer " + credential),
                CallOptions.DEFAULT,
                Integer.MAX_VALUE);
    }

    private static void expectResponse(GrpcClient stream) throws Exception {
        stream.send(Infer.request("m", "b", 1).toByteArray());
        assertThat(Infer.envelope(stream.response()).getInferResponse().getId()).isEqualTo("b");
    }

    /** Sends messages until the stream has ended. */
    private static Status ended(GrpcClient stream) throws Exception {
        await().atMost(PATIENCE).until(() -> {
            stream.send(Infer.request("m", "c", 1).toByteArray());
            return !stream.open();
        });
        return stream.status();
    }

    @Test
    void stream_isJudgedMessageByMessage() throws Exception {
        try (FakeGrpcServer streaming = streaming();
                Stage stage = stage(AUTHENTICATION + RULES, streaming)) {
            GrpcClient alice = stream(stage, ALICE);
            alice.send(Infer.request("other", "a", 1).toByteArray());
            ModelStreamInferResponse refused = Infer.envelope(alice.response());
            assertThat(refused.getErrorMessage()).isEqualTo("permission 'stream' is required");
            expectResponse(alice);
            alice.end();
            GrpcClient bob = stream(stage, BOB);
            assertThat(bob.status().getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
        }
    }

    @Test
    void stream_endsWhenItsKeyIsRemoved() throws Exception {
        try (FakeGrpcServer streaming = streaming();
                Stage stage = stage(AUTHENTICATION + RULES, streaming)) {
            GrpcClient removed = stream(stage, ALICE);
            expectResponse(removed);
            keys(line("alice", "next-key"));
            Status status = ended(removed);
            assertThat(status.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
            assertThat(status.getDescription()).startsWith("the credential is not valid");
            GrpcClient next = stream(stage, "next-key");
            expectResponse(next);
            next.end();
            assertThat(next.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void stream_endsWhenItsTokenExpires() throws Exception {
        String yaml = AUTHENTICATION.replace("jwks.json}", "jwks.json, skew: 0s}");
        try (FakeGrpcServer streaming = streaming();
                Stage stage = stage(yaml, streaming)) {
            GrpcClient lasting = stream(stage, token("carol"));
            GrpcClient expiring = stream(
                    stage,
                    ISSUER.token(TestIssuer.claims("carol")
                            .expirationTime(Date.from(Instant.now().plusSeconds(3)))
                            .build()));
            Status status = ended(expiring);
            assertThat(status.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
            assertThat(status.getDescription()).startsWith("the credential has expired");
            expectResponse(lasting);
            lasting.end();
        }
    }

    @Test
    void repeatedBadTokens_areRefused_andKnownCallersGoOn() throws Exception {
        String[] parts = token("carol").split("\\.", -1);
        try (Stage stage = stage(AUTHENTICATION);
                Http1Client client = stage.http1()) {
            // Sent without waiting for responses: while they are checked the limit allows 20 more in a second.
            for (int i = 0; i < BAD_TOKENS; i++) {
                String payload = TestIssuer.claims("carol" + i)
                        .build()
                        .toPayload()
                        .toBase64URL()
                        .toString();
                String token = parts[0] + "." + payload + "." + parts[2];
                client.post(INFER, Infer.json("i", 1), "Authorization: Bearer " + token);
            }
            Set<Integer> statuses = new HashSet<>();
            for (int i = 0; i < BAD_TOKENS; i++) {
                statuses.add(client.response().status());
            }
            assertThat(statuses).containsExactlyInAnyOrder(401, 429);
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
        }
    }

    @Test
    void openListener_needsNoCredential_butChecksOne() throws Exception {
        String yaml = AUTHENTICATION.replace("{port: 0}", "{port: 0, access: open}");
        try (Stage stage = stage(yaml)) {
            assertThat(infer(stage).status()).isEqualTo(200);
            assertThat(infer(stage, "X-Api-Key: no").status()).isEqualTo(401);
        }
    }

    @Test
    void reload_withAFileThatCannotBeUsed_isRejected() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            GatewayConfig changed = config(AUTHENTICATION.replace("isthmus]", "isthmus, other]"));
            write("jwks.json", "{}");
            assertThatThrownBy(() -> stage.proxy().reload(changed)).isInstanceOf(ConfigException.class);
            assertThat(infer(stage, "Authorization: Bearer " + token("carol")).status())
                    .isEqualTo(200);
        }
    }

    @Test
    void rateOfACaller_isItsOwn() throws Exception {
        String yaml = AUTHENTICATION
                + "models: {m: {upstream: server, rates: [{principal: true, requests_per_second: 1, burst: 1s}]}}\n";
        try (Stage stage = stage(yaml)) {
            assertThat(infer(stage, "X-Api-Key: " + ALICE).status()).isEqualTo(200);
            assertThat(infer(stage, "X-Api-Key: " + BOB).status()).isEqualTo(200);
            await().atMost(PATIENCE)
                    .until(() -> infer(stage, "X-Api-Key: " + BOB).status() == 429);
            await().atMost(PATIENCE).until(() -> limited(stage, "bob") > 0);
            assertThat(limited(stage, "alice")).isZero();
        }
    }

    /** How many calls of a caller a limit has refused. */
    private static double limited(Stage stage, String caller) {
        return stage.proxy()
                .meters()
                .get("isthmus.principal.requests.limited")
                .tag("principal", caller)
                .counter()
                .count();
    }

    @Test
    void concurrentCallsOfACaller_areLimited_whateverItsCredential() throws Exception {
        String yaml = AUTHENTICATION.replace("authentication:\n", "authentication:\n  max_requests: 1\n");
        try (Stage stage = stage(yaml)) {
            GrpcClient held = GrpcClient.open(
                    stage.channel(), "ModelStreamInfer", metadata("Bearer " + ALICE), CallOptions.DEFAULT, 10);
            held.send(Infer.request("m", "a", 1).toByteArray());
            held.response();
            Http1Client.Response refused = infer(stage, "Authorization: Bearer " + token("alice"));
            expectRefused(refused, 429, "too many concurrent calls of this caller (limit 1)");
            assertThat(infer(stage, "X-Api-Key: " + BOB).status()).isEqualTo(200);
            held.end();
            assertThat(held.status().getCode()).isEqualTo(Status.Code.OK);
            await().atMost(PATIENCE)
                    .until(() -> infer(stage, "X-Api-Key: " + ALICE).status() == 200);
        }
    }

    @Test
    void sharedMemoryInInferences_needsItsPermission() throws Exception {
        String yaml = AUTHENTICATION.replace("dialect: triton", "dialect: triton, shared_memory: true") + RULES
                + "    - {name: memory, who: {names: [alice]}, may: [shared_memory], models: [m]}\n";
        ModelInferRequest message = ModelInferRequest.newBuilder()
                .setModelName("m")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("INT32")
                        .addShape(1)
                        .putParameters("shared_memory_region", text("r"))
                        .putParameters("shared_memory_byte_size", number(4)))
                .build();
        String json = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT32\",\"shape\":[1],\"parameters\":"
                + "{\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":4}}]}";
        try (Stage stage = stage(yaml);
                Http1Client client = stage.http1()) {
            Http1Client.Response refused =
                    client.post(INFER, json, "X-Api-Key: " + BOB).response();
            expectRefused(refused, 400, "input 'x': shared memory is not enabled");
            assertThat(client.post(INFER, json, "X-Api-Key: " + ALICE)
                            .response()
                            .status())
                    .isEqualTo(200);
            GrpcClient bob = grpc(stage, "ModelInfer", "Bearer " + BOB, message.toByteArray());
            assertThat(bob.status().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
            GrpcClient alice = grpc(stage, "ModelInfer", "Bearer " + ALICE, message.toByteArray());
            assertThat(alice.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    private static InferParameter text(String value) {
        return InferParameter.newBuilder().setStringParam(value).build();
    }

    private static InferParameter number(long value) {
        return InferParameter.newBuilder().setInt64Param(value).build();
    }

    @Test
    void largeBody_withoutCredential_isNotRead() throws Exception {
        try (Stage stage = stage(AUTHENTICATION);
                Http1Client client = stage.http1()) {
            client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n{");
            assertThat(client.response().status()).isEqualTo(401);
            GrpcClient stream = GrpcClient.open(stage.channel(), "ModelInfer");
            // Nothing was sent.
            assertThat(stream.status().getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
        }
    }

    /** gRPC's own services; an empty message requests the state of the gateway. */
    private static Status.Code ask(Stage stage, String method) throws Exception {
        MethodDescriptor<byte[], byte[]> descriptor =
                FakeGrpcServer.bytes("x").toBuilder().setFullMethodName(method).build();
        CompletableFuture<Status> status = new CompletableFuture<>();
        ClientCall<byte[], byte[]> call = stage.channel().newCall(descriptor, CallOptions.DEFAULT);
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onClose(Status got, Metadata trailers) {
                        status.complete(got);
                    }
                },
                new Metadata());
        call.request(10);
        call.sendMessage(new byte[0]);
        call.halfClose();
        return status.get(20, TimeUnit.SECONDS).getCode();
    }

    @Test
    void servicesOfGrpc_probesAreOpen_reflectionIsNot() throws Exception {
        try (Stage stage = stage(AUTHENTICATION)) {
            assertThat(ask(stage, "grpc.health.v1.Health/Check")).isEqualTo(Status.Code.OK);
            assertThat(ask(stage, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"))
                    .isEqualTo(Status.Code.UNAUTHENTICATED);
        }
        try (Stage stage = stage(AUTHENTICATION + "  health: authenticated\n")) {
            assertThat(ask(stage, "grpc.health.v1.Health/Check")).isEqualTo(Status.Code.UNAUTHENTICATED);
        }
    }
}

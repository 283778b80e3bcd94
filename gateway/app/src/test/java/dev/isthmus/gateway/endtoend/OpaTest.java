package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelMetadataRequest;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The engine of Open Policy Agent decides about calls, by the policy of docs/reference/authorization.md. */
class OpaTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String CONFIG = """
            listeners: [{port: 0}]
            health: {warm_up: 0s}
            local: {embedded_models: true}
            default_upstream: local
            authentication: {api_keys: {file: %s}}
            external_authorization: {endpoints: ["127.0.0.1:%d"], timeout: 10s, on_failure: %s}
            """;

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client = HttpClient.newHttpClient();
    private int port;
    private Path keys;
    private Process opa;

    @BeforeEach
    void start() throws Exception {
        port = RealServer.freePort();
        String page = Files.readString(Script.path("../docs/reference/authorization.md"));
        int begin = page.indexOf("package envoy.authz");
        Path policy =
                Files.writeString(folder.resolve("policy.rego"), page.substring(begin, page.indexOf("```", begin)));
        Path program = Script.folder("opa", Script.run("install.sh", "opa")).resolve("opa");
        opa = new ProcessBuilder(List.of(program.toString(), "127.0.0.1:" + port, policy.toString()))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("opa.log").toFile())
                .start();
        await().atMost(PATIENCE).until(() -> !opa.isAlive() || accepts());
        assertThat(opa.isAlive())
                .as(Files.readString(folder.resolve("opa.log")))
                .isTrue();
        keys = Files.writeString(folder.resolve("keys"), line("alice") + " science\n" + line("bob") + "\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-------"));
    }

    @AfterEach
    void stop() {
        Script.stop(opa);
    }

    /** The name is the key. */
    private static String line(String name) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8));
        return name + " " + HexFormat.of().formatHex(digest);
    }

    private boolean accepts() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    @Test
    void policy_decidesByCallerAndModel_overBothProtocols() throws Exception {
        try (Gateway gateway = TestGateways.start(CONFIG.formatted(keys, port, "deny"))) {
            assertThat(get(gateway, "alice", "digits")).isEqualTo(200);
            assertThat(get(gateway, "alice", "simple")).isEqualTo(403);
            assertThat(get(gateway, "bob", "digits")).isEqualTo(403);
            assertThat(grpc(gateway, "alice", "digits")).isEqualTo(Status.Code.OK);
            assertThat(grpc(gateway, "bob", "digits")).isEqualTo(Status.Code.PERMISSION_DENIED);
            assertThat(get(gateway, "alice", "digits")).isEqualTo(200);
            assertThat(count(gateway, "kept")).isEqualTo(1);
            assertThat(count(gateway, "allowed")).isEqualTo(2);
            assertThat(count(gateway, "refused")).isEqualTo(3);
            // What is kept holds without the service, and nothing else.
            Script.stop(opa);
            assertThat(get(gateway, "alice", "digits")).isEqualTo(200);
            assertThat(get(gateway, "bob", "digits")).isEqualTo(503);
            assertThat(grpc(gateway, "bob", "digits")).isEqualTo(Status.Code.UNAVAILABLE);
        }
    }

    @Test
    void callsPass_withoutTheService_ifSoConfigured() throws Exception {
        Script.stop(opa);
        try (Gateway gateway = TestGateways.start(CONFIG.formatted(keys, port, "allow"))) {
            assertThat(get(gateway, "bob", "digits")).isEqualTo(200);
            assertThat(count(gateway, "failed")).isEqualTo(1);
        }
    }

    private static double count(Gateway gateway, String result) {
        return gateway.meters()
                .get("isthmus.external.authorization")
                .tag("result", result)
                .counter()
                .count();
    }

    /** The status of a request for a model's metadata. */
    private int get(Gateway gateway, String caller, String model) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + TestGateways.address(gateway) + "/v2/models/" + model))
                .header("x-api-key", caller)
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }

    private static Status.Code grpc(Gateway gateway, String caller, String model) {
        Metadata metadata = new Metadata();
        metadata.put(Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER), caller);
        ManagedChannel channel = NettyChannelBuilder.forTarget(TestGateways.address(gateway))
                .usePlaintext()
                .build();
        try {
            byte[] request =
                    ModelMetadataRequest.newBuilder().setName(model).build().toByteArray();
            ClientCalls.blockingUnaryCall(
                    ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(metadata)),
                    FakeGrpcServer.bytes("ModelMetadata").toBuilder()
                            .setType(MethodDescriptor.MethodType.UNARY)
                            .build(),
                    CallOptions.DEFAULT,
                    request);
            return Status.Code.OK;
        } catch (StatusRuntimeException e) {
            return e.getStatus().getCode();
        } finally {
            channel.shutdownNow();
        }
    }
}

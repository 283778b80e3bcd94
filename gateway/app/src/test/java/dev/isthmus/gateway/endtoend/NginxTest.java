package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The real nginx in front of a gateway, with the example of docs/guides/proxies.md. */
class NginxTest {
    private static final int CALLS = 20;

    @TempDir
    Path folder = Path.of(".");

    private static String example() throws IOException {
        String page = Files.readString(Script.path("../docs/guides/proxies.md"));
        int begin = page.indexOf("```text\nupstream ") + "```text\n".length();
        return page.substring(begin, page.indexOf("```", begin));
    }

    @Test
    void restAndGrpcInTurn_areBothServed() throws Exception {
        int grpcPort = RealServer.freePort();
        int restPort = RealServer.freePort();
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true}
                """)) {
            String config = example()
                    .replace("127.0.0.1:8080", TestGateways.address(gateway))
                    .replace("127.0.0.1:8081", "127.0.0.1:" + grpcPort)
                    .replace("127.0.0.1:8082", "127.0.0.1:" + restPort);
            try (NginxServer _ = NginxServer.start(folder, config, grpcPort, restPort)) {
                call(grpcPort, restPort);
            }
        }
    }

    private static void call(int grpcPort, int restPort) throws Exception {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", grpcPort)
                .usePlaintext()
                .directExecutor()
                .build();
        try (HttpClient client = HttpClient.newHttpClient()) {
            URI live = URI.create("http://127.0.0.1:" + restPort + "/v2/health/live");
            for (int i = 0; i < CALLS; i++) {
                assertThat(client.send(HttpRequest.newBuilder(live).build(), BodyHandlers.ofString())
                                .statusCode())
                        .isEqualTo(200);
                // ServerLiveResponse: live, the field 1, is true.
                assertThat(ClientCalls.blockingUnaryCall(
                                channel, FakeGrpcServer.bytes("ServerLive"), CallOptions.DEFAULT, new byte[0]))
                        .containsExactly(8, 1);
            }
        } finally {
            channel.shutdownNow();
        }
    }
}

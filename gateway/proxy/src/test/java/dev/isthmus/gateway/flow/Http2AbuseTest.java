package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Abusive clients and servers are disconnected and counted; peers that merely look abusive are not. */
class Http2AbuseTest {
    private static final String STREAM = "ModelStreamInfer";
    private static final int RESPONSES = 20_000;
    private static final int CALLS = 2000;

    /** Sends as many responses as the request says; none to "silent". */
    private static final FakeGrpcServer.Script COUNTING = new FakeGrpcServer.Script() {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            for (int i = 0; i < Infer.value(Infer.request(message)); i++) {
                call.sendMessage(Infer.enveloped(Infer.responseTo(Infer.request(message), i)));
            }
        }
    };

    private FakeGrpcServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer(COUNTING);
        stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    private GrpcClient open(int responses) {
        GrpcClient client =
                GrpcClient.open(stage.channel(), STREAM, new Metadata(), CallOptions.DEFAULT, Integer.MAX_VALUE);
        return client.send(Infer.request("m", "a", responses).toByteArray());
    }

    @Test
    void manySmallResponses_allArrive() throws Exception {
        GrpcClient client = open(RESPONSES);
        client.end();
        for (int i = 0; i < RESPONSES; i++) {
            assertThat(Infer.value(Infer.envelope(client.response()).getInferResponse()))
                    .isEqualTo(i);
        }
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
    }

    @Test
    void cancelledCallsBesideAHealthyOne_leaveItAlone() throws Exception {
        GrpcClient healthy = open(1);
        healthy.response();
        for (int i = 0; i < CALLS; i++) {
            open(0).cancel();
        }
        healthy.send(Infer.request("m", "b", 1).toByteArray());
        assertThat(Infer.envelope(healthy.response()).getInferResponse().getId())
                .isEqualTo("b");
        healthy.end();
        assertThat(healthy.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(stage.proxy().meters().find("isthmus.http2.abuse").counters())
                .allMatch(counter -> counter.count() == 0);
    }

    @Test
    void clientThatOnlyResets_isCutAndCounted(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("isthmus.yaml"), """
                listeners: [{host: 127.0.0.1, port: 0}]
                limits: {http2_abuse: {stream_reset_burst: 20, stream_reset_rate: 0}}
                local: {embedded_models: true}
                default_upstream: local
                """);
        try (ProxyServer gateway = ProxyServer.start(ConfigLoader.load(file));
                RecordingHttp2Peer attacker =
                        RecordingHttp2Peer.client(gateway.addresses().get(0).getPort())) {
            for (int i = 0; i < 21; i++) {
                attacker.infer().reset();
            }
            await().atMost(Duration.ofSeconds(30)).until(() -> abuse(gateway.meters(), "client", "stream_resets") == 1);
        }
    }

    private static double abuse(MeterRegistry meters, String side, String rule) {
        return meters.find("isthmus.http2.abuse").tags("side", side, "rule", rule).counters().stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }
}

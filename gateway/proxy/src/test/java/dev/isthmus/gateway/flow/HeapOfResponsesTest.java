package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Limits;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A REST server's response whose JSON expands on the heap counts at its expanded size. */
class HeapOfResponsesTest {
    private static final int BUDGET = 4 << 20;
    private static final int MEMBERS = 60_000;
    private static final String PATH = "/v2/models/m/infer";
    /** About 600 KB; its names take more than the budget. */
    private static final String RESPONSE = IntStream.range(0, MEMBERS)
            .mapToObj(i -> "\"" + i + "\":0,")
            .collect(Collectors.joining(
                    "",
                    "{",
                    "\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[1],"
                            + "\"data\":[1]}]}"));

    private static Stage stage(FakeRestServer server) throws Exception {
        Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON));
        GatewayConfig config = stage.proxy().config();
        double share = BUDGET * 16.0 / 15 / PlatformDependent.maxDirectMemory();
        Limits limits = TestConfigs.with(config.limits(), Map.of("maxBuffered", share));
        stage.proxy().reload(TestConfigs.with(config, Map.of("limits", limits)));
        return stage;
    }

    private static FakeRestServer server() throws Exception {
        return FakeRestServer.that((seen, out) -> {
            FakeRestServer.write(out, FakeRestServer.ok(seen.head().startsWith("POST") ? RESPONSE : "{}"));
            return true;
        });
    }

    /** Transcoded for a gRPC client. */
    @Test
    void gatheredResponse() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = stage(server);
                Http2Client client = new Http2Client(stage.port())) {
            byte[] message = Infer.request("m", "a", 1).toByteArray();
            byte[] framed = ByteBuffer.allocate(message.length + 5)
                    .put((byte) 0)
                    .putInt(message.length)
                    .put(message)
                    .array();
            Http2Client.Response call = client.post(
                    "/" + FakeGrpcServer.SERVICE + "/ModelInfer",
                    framed,
                    "content-type",
                    "application/grpc",
                    "te",
                    "trailers");
            assertThat(call.trailers().get("grpc-status")).hasToString("8");
            assertThat(call.trailers().get("grpc-message").toString()).startsWith("memory limit of ");
            await().until(() -> used(stage) == 0);
        }
    }

    /** Validated while it is forwarded to a REST client, whose response is truncated. */
    @Test
    void passedResponse() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = stage(server);
                Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response call = client.post(PATH, Infer.json("a", 1));
            assertThat(call.reset()).isEqualTo(2);
            await().until(() -> used(stage) == 0);
        }
    }

    private static double used(Stage stage) {
        MeterRegistry meters = stage.proxy().meters();
        return meters.get("isthmus.memory.used").gauge().value();
    }
}

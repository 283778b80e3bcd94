package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An HTTP/2 request that gets its response before it has ended leaks nothing. */
class EarlyResponsesTest {
    private static final int MOST_REQUESTS = 4;
    private static final String[] PATHS = {"/v2/models/m/trace/setting", "/v2/models/m/infer"};

    private PartsServer server;
    private Stage stage;
    private Http2Client client;

    @BeforeEach
    void start() throws Exception {
        server = new PartsServer();
        stage = FleetStage.of(Stage.grpc(server, ServerDialect.TRITON))
                .limiting(Map.of("maxBodySize", 1 << 20, "maxRequests", MOST_REQUESTS));
        client = new Http2Client(stage.port());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        stage.close();
        server.close();
    }

    /** Rejected with its first bytes, and then abandoned by the client. */
    private void refused(String path) throws Exception {
        Http2Client.Response call = client.begin(path, "content-type", "application/json");
        byte[] wrong = "{\"id\":\"a\",\"parameters\":{\"a\":-,".getBytes(StandardCharsets.UTF_8);
        call.data(wrong, 0, wrong.length, false);
        assertThat(call.head().status()).hasToString("400");
        call.data(wrong, 0, wrong.length, false);
        call.cancel();
    }

    @Test
    void itsMemoryIsGivenBack() throws Exception {
        for (String path : PATHS) {
            refused(path);
            await().untilAsserted(() -> assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.memory.used")
                            .gauge()
                            .value())
                    .as(path)
                    .isZero());
        }
    }

    @Test
    void itIsNotWaitedFor() throws Exception {
        for (int i = 0; i < MOST_REQUESTS; i++) {
            refused(PATHS[i % PATHS.length]);
        }
        Http2Client.Response next = client.begin(PATHS[1], "content-type", "application/json");
        byte[] wrong = "{]".getBytes(StandardCharsets.UTF_8);
        next.data(wrong, 0, wrong.length, true);
        assertThat(next.head().status()).hasToString("400");
    }
}

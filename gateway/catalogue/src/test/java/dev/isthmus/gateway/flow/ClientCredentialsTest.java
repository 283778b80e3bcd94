package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig.HealthConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A server that describes its model only to clients with a credential: the gateway's own look-up gets 401. */
class ClientCredentialsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String REFUSED = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";

    private final Semaphore refusals = new Semaphore(0);
    private volatile boolean listed = true;
    private volatile boolean lookedUp;
    private volatile boolean asked;
    private volatile boolean silent;
    private FakeRestServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            String path = request.head().split(" ", -1)[1];
            boolean keyed = request.head().contains("x-flow-key");
            return path.equals("/v2/models/found")
                    ? describe(keyed, out)
                    : write(out, path.startsWith("/v2/models/inner") && !keyed ? REFUSED : answer(path));
        });
        // With another name for some model, so that the index is merged.
        TargetConfig renaming = new TargetConfig(null, "a", "inner", null, 1);
        stage = FleetStage.fleet(
                Map.of(
                        "a",
                        TestConfigs.with(
                                TestConfigs.upstream(UpstreamProtocol.REST, server.endpoint()),
                                Map.of("discover", true))),
                Map.of("outer", TestConfigs.with(ModelConfig.DEFAULT, Map.of("targets", List.of(renaming)))),
                DefaultValues.of(HealthConfig.class),
                null);
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(stage).discovered().containsKey("found"));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    private static boolean write(OutputStream out, String response) throws IOException {
        FakeRestServer.write(out, response);
        return true;
    }

    private boolean describe(boolean keyed, OutputStream out) throws IOException {
        if (!keyed) {
            lookedUp = true;
            refusals.acquireUninterruptibly();
            return write(out, REFUSED);
        }
        asked = true;
        return silent || write(out, FakeRestServer.ok("{\"name\":\"found\",\"inputs\":[],\"outputs\":[]}"));
    }

    private String answer(String path) {
        return FakeRestServer.ok(
                switch (path) {
                    case "/v2" -> "{\"name\":\"s\",\"version\":\"\",\"extensions\":[\"model_repository\"]}";
                    case "/v2/repository/index" ->
                        listed ? "[{\"name\":\"found\",\"version\":\"1\",\"state\":\"READY\"}]" : "[]";
                    case "/v2/models/inner" -> "{\"name\":\"inner\",\"inputs\":[],\"outputs\":[]}";
                    default -> "{}";
                });
    }

    @Test
    void modelThatIsNotListedAnyMore_isStillAskedForByTheClientsOwnRequest() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.get("/v2/models/found", "x-flow-key: me");
            await().atMost(PATIENCE).until(() -> lookedUp);
            listed = false;
            await().atMost(PATIENCE).until(() -> {
                try (Http1Client other = stage.http1()) {
                    other.post("/v2/repository/index", "").response();
                }
                return FleetStage.catalogue(stage).discovered().isEmpty();
            });
            refusals.release();
            assertThat(client.response().status()).isEqualTo(200);
        }
    }

    @Test
    void clientsOwnRequest_isCancelledWithItsCall() throws Exception {
        silent = true;
        refusals.release();
        try (Http1Client client = stage.http1()) {
            client.get("/v2/models/found", "x-flow-key: me");
            await().atMost(PATIENCE).until(() -> asked);
        }
        server.awaitConnectionClosed();
    }

    @Test
    void renamedModel_isDescribedUnderTheClientsName() throws Exception {
        try (Http1Client client = stage.http1()) {
            for (String path : List.of("/v2/models/outer", "/v2/models/outer/versions/2/ready")) {
                Http1Client.Response response =
                        client.get(path, "x-flow-key: me").response();
                assertThat(response.status()).isEqualTo(200);
                assertThat(response.text()).contains("\"name\":\"outer\"");
            }
        }
    }
}

package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.flow.ErrorTextsStage.INFER;
import static dev.isthmus.gateway.flow.ErrorTextsStage.SECRET;
import static dev.isthmus.gateway.flow.ErrorTextsStage.UPSTREAM;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What clients see of failures behind the gateway that do not concern inference alone: {@code answers: errors}. */
class FleetErrorTextsTest {
    @RegisterExtension
    final LoggedEvents logged = ErrorTextsStage.logged();

    /** @param there the name of the model 'm' there */
    private static Stage stage(ErrorTexts errors, UpstreamConfig upstream, String there) throws Exception {
        return FleetStage.with(ErrorTextsStage.config(errors, upstream, there));
    }

    @Test
    void nameOfAnUpstream_isHidden() throws Exception {
        Endpoint nobody = new Endpoint("127.0.0.1", 1);
        try (Stage stage = stage(ErrorTexts.GENERIC, TestConfigs.upstream(UpstreamProtocol.REST, nobody), "m");
                Http1Client client = stage.http1()) {
            assertThat(client.post(INFER, Infer.json("a", 0), "X-Request-Id: u-1")
                            .response()
                            .text())
                    .isEqualTo("{\"error\":\"the upstream server is unavailable (request id u-1)\"}");
            Http1Client.Response ready = client.get("/v2/health/ready").response();
            assertThat(ready.status()).isEqualTo(400);
            assertThat(ready.text()).isEqualTo("{\"error\":\"the server is not ready\"}");
            assertThat(client.post("/v2/repository/models/m/load", "{}")
                            .response()
                            .text())
                    .doesNotContain(UPSTREAM);
            assertThat(logged.messages()).anySatisfy(line -> assertThat(line).contains("upstream '" + UPSTREAM + "'"));
        }
    }

    /** Messages that help a client to correct its request are the gateway's own. */
    @Test
    void textsAboutTheRequestItself_areSeen() throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(500, SECRET);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON), "m");
                Http1Client client = stage.http1()) {
            assertThat(client.post(INFER, "{\"inputs\":5}").response().text()).contains("inputs");
            assertThat(client.get("/v2/models/stranger").response().text()).contains("unknown model 'stranger'");
            assertThat(client.get("/nothing").response().status()).isEqualTo(404);
            assertThat(logged.messages()).isEmpty();
        }
    }

    @Test
    void refusalOfAConfiguration_isHidden() throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(400, SECRET);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.MLSERVER), "m");
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.get("/v2/models/m/config").response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.text()).contains("INVALID_ARGUMENT").doesNotContain(SECRET);
        }
    }

    @Test
    void model_hasTheNameThatTheClientKnows() throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(404, "Request for unknown model: 'm-v2' is not found");
                Stage stage = stage(ErrorTexts.CLIENT_ERRORS, Stage.rest(server, ServerDialect.TRITON), "m-v2");
                Http1Client client = stage.http1()) {
            String expected = "{\"error\":\"Request for unknown model: 'm' is not found\"}";
            assertThat(client.post(INFER, Infer.json("a", 0)).response().text()).isEqualTo(expected);
            assertThat(client.get("/v2/models/m").response().text()).isEqualTo(expected);
            assertThat(client.get("/v2/models/m/config").response().text()).isEqualTo(expected);
            assertThat(logged.messages()).isEmpty();
        }
    }
}

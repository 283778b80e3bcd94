package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Map;

/** The model {@code m} of one upstream, whose errors clients see as configured. */
final class ErrorTextsStage {
    /** What no client should see. */
    static final String SECRET = "/srv/models on db-7.internal";

    static final String UPSTREAM = "secret-upstream";
    static final String INFER = "/v2/models/m/infer";

    private ErrorTextsStage() {}

    /** @param there the model's name there */
    static GatewayConfig config(ErrorTexts errors, UpstreamConfig upstream, String there) {
        GatewayConfig base = Stage.config(
                Map.of(UPSTREAM, TestConfigs.with(upstream, Map.of("retry", UpstreamConfig.Retry.DEFAULT))),
                Map.of("m", TestConfigs.with(ModelConfig.of(UPSTREAM), Map.of("model", there))),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false);
        return TestConfigs.with(base, Map.of("answers", TestConfigs.with(base.answers(), Map.of("errors", errors))));
    }

    /** What is logged of texts that clients do not see. */
    static LoggedEvents logged() {
        return new LoggedEvents("dev.isthmus.gateway.dispatch.GenericErrorTexts");
    }

    static Http1Client.Response infer(Stage stage, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(INFER, Infer.json("a", 0), headers).response();
        }
    }

    static Status inferOverGrpc(Stage stage, Metadata metadata) throws Exception {
        byte[] request = Infer.request("m", "a", 1).toByteArray();
        return GrpcClient.ask(stage.channel(), "ModelInfer", metadata, request).status();
    }
}

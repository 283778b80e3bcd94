package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import io.grpc.Metadata;
import io.grpc.Status;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A gateway that is its own upstream responds at once. */
class LoopTest {
    private static final String LOOP = "the call passed through 5 gateways, at most 5 are expected";

    private static Stage itsOwnUpstream(UpstreamProtocol protocol) throws Exception {
        Endpoint itself = TestConfigs.unusedEndpoint();
        return Stage.at(
                itself.port(), Stage.upstream(protocol, itself, ServerDialect.GENERIC, BinaryTensorData.FALSE, false));
    }

    @ParameterizedTest
    @EnumSource(UpstreamProtocol.class)
    void call_isRefusedAfterAFewRounds(UpstreamProtocol protocol) throws Exception {
        try (Stage stage = itsOwnUpstream(protocol);
                Http1Client http = stage.http1()) {
            Http1Client.Response response =
                    http.post("/v2/models/m/infer", Infer.json("a", 7)).response();
            assertThat(response.text()).contains(LOOP);
            assertThat(response.status()).isEqualTo(protocol == UpstreamProtocol.REST ? 508 : 500);
            Status status = GrpcClient.ask(
                            stage.channel(),
                            "ModelInfer",
                            new Metadata(),
                            Infer.request("m", "a", 7).toByteArray())
                    .status();
            assertThat(status.getCode()).isEqualTo(Status.Code.INTERNAL);
            assertThat(status.getDescription()).contains(LOOP);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-100", "none", "1,2"})
    void countThatAClientForged_isCountedAllTheSame(String forged) throws Exception {
        try (Stage stage = itsOwnUpstream(UpstreamProtocol.GRPC)) {
            Metadata headers = new Metadata();
            headers.put(Metadata.Key.of("isthmus-hops", Metadata.ASCII_STRING_MARSHALLER), forged);
            Status status = GrpcClient.ask(
                            stage.channel(),
                            "ModelInfer",
                            headers,
                            Infer.request("m", "a", 7).toByteArray())
                    .status();
            assertThat(status.getDescription()).contains(LOOP);
        }
    }
}

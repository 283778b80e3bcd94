package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.metadata.RawModelMetadata;
import io.grpc.Metadata;
import org.junit.jupiter.api.Test;

/** The properties of models, and MLServer's parameters in their place, between clients and servers of either protocol. */
class ModelPropertiesTest {
    private static final RawModelMetadata MODEL = RawModelMetadata.newBuilder()
            .setName("m")
            .setPlatform("p")
            .putExtension("framework", ByteString.copyFromUtf8("sklearn"))
            .putExtension("owner", ByteString.copyFromUtf8("vision"))
            .build();
    private static final String JSON = """
            {"name":"m","platform":"p","inputs":[],"outputs":[],"properties":{"framework":"sklearn","owner":"vision"}}""";

    private static void expect(Stage stage, String json, RawModelMetadata message) throws Exception {
        JsonMapper mapper = new JsonMapper();
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response = client.get("/v2/models/m").response();
            assertThat(mapper.readTree(response.text())).isEqualTo(mapper.readTree(json));
        }
        byte[] request = ModelMetadataRequest.newBuilder().setName("m").build().toByteArray();
        assertThat(RawModelMetadata.parseFrom(GrpcClient.ask(stage.channel(), "ModelMetadata", new Metadata(), request)
                        .response()))
                .isEqualTo(message);
    }

    private static FakeRestServer rest(String metadata) throws Exception {
        return FakeRestServer.that((request, out) -> {
            FakeRestServer.write(
                    out, FakeRestServer.ok(request.head().startsWith("GET /v2/models/m ") ? metadata : "{}"));
            return true;
        });
    }

    private static Stage of(FakeRestServer server) throws Exception {
        return FleetStage.of(Stage.upstream(
                UpstreamProtocol.REST, server.endpoint(), ServerDialect.GENERIC, BinaryTensorData.FALSE, false));
    }

    @Test
    void propertiesOverGrpc_reachBothKindsOfClients() throws Exception {
        try (FakeGrpcServer server = FakeGrpcServer.responding(MODEL.toByteArray());
                Stage stage = FleetStage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            expect(stage, JSON, MODEL);
        }
    }

    @Test
    void propertiesOverRest_reachBothKindsOfClients() throws Exception {
        try (FakeRestServer server = rest(JSON);
                Stage stage = of(server)) {
            expect(stage, JSON, MODEL);
        }
    }

    /** Protobuf has one field for both. */
    @Test
    void propertiesBesideParameters_areParametersOverGrpc() throws Exception {
        String both = JSON.replace("}}", "},\"parameters\":{\"stage\":3}}");
        try (FakeRestServer server = rest(both);
                Stage stage = of(server)) {
            RawModelMetadata.Builder parameters = MODEL.toBuilder();
            MODEL.getExtensionMap()
                    .forEach((name, value) -> parameters.putExtension(
                            name,
                            InferParameter.newBuilder()
                                    .setStringParamBytes(value)
                                    .build()
                                    .toByteString()));
            parameters.putExtension(
                    "stage",
                    InferParameter.newBuilder().setInt64Param(3).build().toByteString());
            expect(stage, both, parameters.build());
        }
    }
}

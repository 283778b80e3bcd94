package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tools that know a gRPC server by its reflection and health services only. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GrpcToolsTest {
    private static final String SERVICE = "inference.GRPCInferenceService";

    private Gateway gateway;
    private String address;

    @BeforeAll
    void start() throws Exception {
        gateway = TestGateways.start("""
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true}
                """);
        address = "127.0.0.1:" + gateway.addresses().getFirst().getPort();
    }

    @AfterAll
    void stop() {
        gateway.close();
    }

    private static Script.Outcome run(String tool, String file, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Script.folder(tool, Script.run("install.sh", tool))
                .resolve(file)
                .toString());
        command.addAll(List.of(arguments));
        return Script.run(Map.of(), command);
    }

    private static Script.Outcome grpcurl(String... arguments) throws Exception {
        List<String> all = new ArrayList<>(List.of("-plaintext"));
        all.addAll(List.of(arguments));
        return run("grpcurl", "grpcurl", all.toArray(String[]::new));
    }

    @Test
    void grpcurl_listsTheServices() throws Exception {
        Script.Outcome outcome = grpcurl(address, "list");
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text().lines())
                .contains(
                        SERVICE,
                        "grpc.health.v1.Health",
                        "grpc.reflection.v1.ServerReflection",
                        "grpc.reflection.v1alpha.ServerReflection");
    }

    @ParameterizedTest
    @CsvSource({
        "inference.GRPCInferenceService,rpc ModelInfer",
        "inference.ModelInferRequest,raw_input_contents",
        "inference.ModelConfigResponse,message ModelConfigResponse",
        "grpc.health.v1.HealthCheckResponse,SERVING",
        "grpc.reflection.v1alpha.ServerReflection,ServerReflectionInfo"
    })
    void grpcurl_describes(String symbol, String text) throws Exception {
        Script.Outcome outcome = grpcurl(address, "describe", symbol);
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).contains(text);
    }

    @Test
    void grpcurl_doesNotKnowOthers() throws Exception {
        assertThat(grpcurl(address, "describe", "inference.Nothing").status()).isNotZero();
    }

    @Test
    void grpcurl_infers() throws Exception {
        String values = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]";
        String input = "{\"name\":\"%s\",\"datatype\":\"INT32\",\"shape\":[1,16],\"contents\":{\"intContents\":%s}}";
        Script.Outcome outcome = grpcurl(
                "-d",
                "{\"modelName\":\"simple\",\"inputs\":[" + input.formatted("INPUT0", values) + ","
                        + input.formatted("INPUT1", values) + "]}",
                address,
                SERVICE + "/ModelInfer");
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).contains("OUTPUT0");
    }

    @ParameterizedTest
    @CsvSource({"'',0", "inference.GRPCInferenceService,0", "simple,0", "stranger,3"})
    void healthProbe(String service, int status) throws Exception {
        // 3: the service is unknown.
        assertThat(run("grpc_health_probe", "grpc-health-probe", "-addr=" + address, "-service=" + service)
                        .status())
                .isEqualTo(status);
    }

    @Test
    void ghz_callsWithoutProtoFiles() throws Exception {
        Script.Outcome outcome =
                run("ghz", "ghz", "--insecure", "--call", SERVICE + "/ServerReady", "-n", "50", "-c", "2", address);
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).contains("[OK]");
    }
}

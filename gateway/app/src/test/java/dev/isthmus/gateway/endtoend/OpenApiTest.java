package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The OpenAPI documents of real models, checked by foreign programs: {@code conformance/openapi}. */
@ExtendWith(RealServers.Shared.class)
class OpenApiTest {
    /** Models whose metadata do not tell what they want. */
    private static final Map<String, String> UNLIKE = Map.of(
            "simple_sequence", "wants a sequence_id",
            "simple_dyna_sequence", "wants a sequence_id",
            "repeat_int32", "streams its responses",
            "fail", "always fails");

    @Test
    void embeddedModels() throws Exception {
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true}
                """)) {
            assertThat(check(gateway, "simple", Map.of()))
                    .contains("simple 1: answered", "generated client: OUTPUT0 of the type OutputOUTPUT0: [0, 0, 0,");
        }
    }

    @Test
    void realServers(RealServers servers) throws Exception {
        servers.awaitReady();
        try (Gateway gateway = TestGateways.start(
                """
                listeners: [{port: 0}]
                upstreams:
                  triton: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                  mlserver: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                  kserve: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                models:
                  iris: {upstream: mlserver}
                  identity: {upstream: mlserver}
                  numpy: {upstream: kserve}
                  "identity_*": {upstream: triton}
                default_upstream: triton
                """.formatted(servers.triton.grpcPort, servers.mlserver.httpPort, servers.kserve.httpPort))) {
            TestGateways.awaitReady(gateway);
            assertThat(check(gateway, "iris", UNLIKE))
                    .contains("versioned 3: answered", "identity_bytes : answered", "iris v1: answered");
        }
    }

    private static String check(Gateway gateway, String client, Map<String, String> unlike) throws Exception {
        String python = Script.folder("openapi", Script.run("install.sh", "openapi"))
                .resolve("bin/python")
                .toString();
        List<String> command = new ArrayList<>(List.of(
                python, Script.path("openapi/check.py").toString(), "http://" + TestGateways.address(gateway), client));
        unlike.forEach((model, reason) -> command.add(model + "=" + reason));
        Script.Outcome outcome = Script.run(Map.of(), command);
        System.out.println(outcome.text());
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).endsWith("all passed\n");
        return outcome.text();
    }
}

package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A gateway in front of omle-server, which is written in C++ and shares no code with the other servers: clients of both
 * protocols get what it serves correctly, FP32 and FP64, also as binary data, which it does not know.
 */
class OmleServerTest {
    private static final List<String> FORMS =
            List.of("json", "binary-in", "binary-out", "binary", "grpc-raw", "grpc-typed");

    @TempDir
    Path folder = Path.of(".");

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void floats_overBothProtocols(String wire) throws Exception {
        List<String> cases = new ArrayList<>(List.of("health."));
        FORMS.forEach(form -> Stream.of("FP32", "FP64")
                .map(datatype -> "datatypes." + form + "." + datatype)
                .forEach(cases::add));
        try (RealServer server = new RealServer("omle", folder)) {
            server.awaitReady();
            String yaml = """
                    listeners: [{port: 0}]
                    default_upstream: omle
                    upstreams:
                      omle: {protocol: %s, endpoints: ["127.0.0.1:%d"]}
                    """.formatted(wire, server.port(wire));
            try (Gateway gateway = TestGateways.start(yaml)) {
                TestGateways.awaitReady(gateway);
                String address = TestGateways.address(gateway);
                List<String> arguments = new ArrayList<>(
                        List.of(address, "--grpc", address, "--models", "omle", "--timeout", "30", "--only"));
                arguments.addAll(cases);
                Script.Outcome outcome = Script.run("score", arguments.toArray(String[]::new));
                assertThat(outcome.complaint()).isEmpty();
                assertThat(outcome.lastLine()).contains(" passed, 0 failed");
            }
        }
    }
}

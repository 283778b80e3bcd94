package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.TestAuthority;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The conformance suite against a gateway with TLS: over REST, HTTP/2 and gRPC, with and without client certificates. */
class SuiteOverTlsTest {
    private static final int UNREACHABLE = 3;

    @TempDir
    Path folder = Path.of(".");

    private TestAuthority authority;
    private TestAuthority.Issued server;
    private TestAuthority.Issued client;

    @BeforeEach
    void issue() throws Exception {
        authority = new TestAuthority(folder, "ca");
        server = authority.issue("server", "localhost");
        client = authority.issue("client", "suite");
    }

    @Test
    void caFileAndClientCertificate_everyCasePasses() throws Exception {
        try (Gateway gateway = gateway(", client_certificates: {mode: required, ca: '%s'}".formatted(authority.ca()))) {
            String ca = authority.ca().toString();
            Script.Outcome outcome = suite(
                    gateway,
                    "--ca-file",
                    ca,
                    "--cert",
                    client.certificate().toString(),
                    "--key",
                    client.key().toString());
            assertThat(outcome.complaint()).isEmpty();
            assertThat(outcome.lastLine()).contains(" passed, 0 failed");
            // Over TLS 1.3 a server refuses a client only after the handshake.
            assertThat(suite(gateway, "--ca-file", ca).status()).isEqualTo(UNREACHABLE);
        }
    }

    @Test
    void certificateOfAnUnknownAuthority_isRefused_unlessInsecure() throws Exception {
        try (Gateway gateway = gateway("")) {
            Script.Outcome refused = suite(gateway);
            assertThat(refused.status()).isEqualTo(UNREACHABLE);
            assertThat(refused.text()).contains("no connection with TLS to localhost:", "certificate verify failed");
            Script.Outcome insecure = suite(gateway, "--insecure");
            assertThat(insecure.complaint()).isEmpty();
            assertThat(insecure.lastLine()).contains(" passed, 0 failed");
        }
    }

    private Gateway gateway(String further) throws Exception {
        return TestGateways.start("""
                listeners:
                  - {port: 0, management: allow, tls: {certificates: [{certificate: '%s', key: '%s'}]%s}}
                default_upstream: local
                local: {embedded_models: true}
                """.formatted(server.certificate(), server.key(), further));
    }

    /** Over both protocols; limits has requests over HTTP/2, paths those in absolute form, bridge Triton's client. */
    private static Script.Outcome suite(Gateway gateway, String... options) throws Exception {
        String address = "https://" + TestGateways.address(gateway).replace("127.0.0.1", "localhost");
        List<String> arguments = new ArrayList<>(List.of(address, "--grpc", address, "--models", "onnx"));
        arguments.addAll(List.of(options));
        arguments.addAll(List.of("--timeout", "30", "--chapter", "health", "paths", "datatypes", "limits", "bridge"));
        return Script.run("score", arguments.toArray(String[]::new));
    }
}

package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * One gateway in front of two real Tritons, the real MLServer and the embedded models: catalogue, canary, shadow,
 * failover, load and unload on all servers, drift. The tests are in {@code conformance/fleet}.
 */
@ExtendWith(RealServers.Shared.class)
class FleetTest {
    private static final String[] MODELS = {
        "simple", "simple_sequence", "identity_fp32", "identity_int8", "identity_int16", "versioned"
    };

    @TempDir
    Path folder = Path.of(".");

    @Test
    void fleet(RealServers servers) throws Exception {
        try (RealServer first = RealServer.tritonWith(folder.resolve("first"), MODELS);
                RealServer second = RealServer.tritonWith(folder.resolve("second"), MODELS)) {
            first.awaitReady();
            second.awaitReady();
            servers.mlserver.awaitReady();
            try (Gateway gateway = TestGateways.start(config(first, second, servers.mlserver))) {
                TestGateways.awaitReady(gateway);
                InetSocketAddress admin = gateway.adminAddress().orElseThrow();
                Script.pytest(
                        "fleet",
                        Map.of(
                                "ISTHMUS_FLEET", TestGateways.address(gateway),
                                "ISTHMUS_ADMIN", admin.getAddress().getHostAddress() + ":" + admin.getPort(),
                                "TRITON_A", "127.0.0.1:" + first.grpcPort,
                                "TRITON_B", "127.0.0.1:" + second.grpcPort,
                                "TRITON_B_PID", Long.toString(second.pid())));
            }
        }
    }

    private static String config(RealServer first, RealServer second, RealServer mlserver) {
        return """
            listeners: [{port: 0, management: allow}]
            admin: {port: 0}
            headers: {forward: [x-request-id]}
            upstreams:
              triton:
                protocol: grpc
                endpoints: ["127.0.0.1:%1$d", "127.0.0.1:%2$d"]
                retry: {retries: 2, on: [unsent, unavailable, lost]}
                outliers: {consecutive_failures: 3, ejection: 5s}
              second: {protocol: grpc, endpoints: ["127.0.0.1:%2$d"]}
              mlserver: {protocol: rest, endpoints: ["127.0.0.1:%3$d"]}
            local: {embedded_models: true}
            models:
              simple:
                targets:
                  - {name: triton, upstream: triton, weight: 95}
                  - {name: local, upstream: local, weight: 5}
                shadow: [{name: local, upstream: local, compare: true}]
              echo:
                targets:
                  - {name: stable, upstream: triton, model: identity_fp32, weight: 80}
                  - {name: canary, upstream: mlserver, model: identity, weight: 20}
                rules: [{headers: {x-canary: "yes"}, target: canary}]
                sticky: {header: x-user}
              numbers:
                upstream: triton
                model: versioned
                versions: {stable: "1", next: "3"}
                default_version: stable
              split:
                targets:
                  - {name: one, upstream: triton, model: versioned, version: "1"}
                  - {name: three, upstream: triton, model: versioned, version: "3"}
              lonely: {upstream: triton, model: identity_int16}
              simple_with_fallback: {upstream: second, model: simple, fallback: {upstream: local, model: simple}}
              iris: {upstream: mlserver}
              "identity_*": {upstream: triton}
              simple_sequence: {upstream: triton}
            """.formatted(first.grpcPort, second.grpcPort, mlserver.httpPort);
    }
}

package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The only Triton and the only MLServer are killed and restarted behind two gateways: one with gRPC upstreams, one with
 * REST upstreams. The tests are in {@code conformance/lost}.
 */
class LostServerTest {

    @TempDir
    Path folder = Path.of(".");

    @Test
    void lastServer_killedAndStartedAgain() throws Exception {
        int[] triton = IntStream.range(0, 3).map(i -> RealServer.freePort()).toArray();
        int[] mlserver = IntStream.range(0, 3).map(i -> RealServer.freePort()).toArray();
        try (Gateway rest = TestGateways.start(config("rest", triton[0], mlserver[0]));
                Gateway grpc = TestGateways.start(config("grpc", triton[1], mlserver[1]))) {
            Script.pytest(
                    "lost",
                    Map.of(
                            "ISTHMUS_GRPC", TestGateways.address(grpc),
                            "ISTHMUS_REST", TestGateways.address(rest),
                            "ISTHMUS_GRPC_ADMIN", admin(grpc),
                            "ISTHMUS_REST_ADMIN", admin(rest),
                            "MODELS", "simple simple_sequence identity_fp32",
                            "TRITON_PORTS", text(triton),
                            "MLSERVER_PORTS", text(mlserver),
                            "ISTHMUS_FOLDER", folder.toString()));
        }
    }

    private static String config(String protocol, int triton, int mlserver) {
        return """
            listeners: [{port: 0, management: allow}]
            admin: {port: 0}
            health: {server_ready: models}
            upstreams:
              triton: {protocol: %1$s, endpoints: ["127.0.0.1:%2$d"], discover: true}
              mlserver: {protocol: %1$s, endpoints: ["127.0.0.1:%3$d"]}
            models:
              simple: {upstream: triton}
              "simple_*": {upstream: triton}
              iris: {upstream: mlserver}
            default_upstream: mlserver
            """.formatted(protocol, triton, mlserver);
    }

    private static String admin(Gateway gateway) {
        InetSocketAddress admin = gateway.adminAddress().orElseThrow();
        return admin.getAddress().getHostAddress() + ":" + admin.getPort();
    }

    private static String text(int[] ports) {
        return IntStream.of(ports).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }
}

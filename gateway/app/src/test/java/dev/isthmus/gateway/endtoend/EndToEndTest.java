package dev.isthmus.gateway.endtoend;

import static java.util.Map.entry;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.proto.Inference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * The official clients against gateways in front of the real Triton, MLServer and KServe, and of the embedded models.
 * The tests are in {@code conformance/e2e}.
 */
@ExtendWith(RealServers.Shared.class)
class EndToEndTest {
    private static final String FLEET = """
            listeners: [{port: 0, management: allow}]
            limits: {max_body_size: 16MiB}
            health: {server_ready: all}
            upstreams:
              triton: {protocol: %1$s, endpoints: ["127.0.0.1:%2$d"]}
              mlserver: {protocol: %1$s, endpoints: ["127.0.0.1:%3$d"]}
              kserve: {protocol: %1$s, endpoints: ["127.0.0.1:%4$d"]}
            models:
              iris: {upstream: mlserver}
              identity: {upstream: mlserver}
              stream: {upstream: mlserver}
              special: {upstream: mlserver}
              numpy: {upstream: kserve}
            default_upstream: triton
            """;

    private static final String LOCAL = """
            listeners: [{port: 0, management: allow}]
            limits: {max_body_size: 16MiB}
            local: {embedded_models: true}
            default_upstream: local
            """;

    private static final String SHARED_MEMORY = """
            listeners: [{port: 0, management: allow}]
            upstreams:
              triton: {protocol: %s, endpoints: ["127.0.0.1:%d"], shared_memory: true}
            default_upstream: triton
            """;

    @TempDir
    Path folder = Path.of(".");

    @Test
    void officialClients(RealServers servers) throws Exception {
        servers.awaitReady();
        int witnessRest = RealServer.freePort();
        int witnessGrpc = RealServer.freePort();
        try (Gateway grpc = TestGateways.start(FLEET.formatted(
                        "grpc", servers.triton.grpcPort, servers.mlserver.grpcPort, servers.kserve.grpcPort));
                Gateway rest = TestGateways.start(FLEET.formatted(
                        "rest", servers.triton.httpPort, servers.mlserver.httpPort, servers.kserve.httpPort));
                Gateway configured = TestGateways.start(configured(servers, witnessRest, witnessGrpc));
                Gateway sharedGrpc = TestGateways.start(SHARED_MEMORY.formatted("grpc", servers.triton.grpcPort));
                Gateway sharedRest = TestGateways.start(SHARED_MEMORY.formatted("rest", servers.triton.httpPort));
                Gateway local = TestGateways.start(LOCAL)) {
            TestGateways.awaitReady(grpc, rest, sharedGrpc, sharedRest, local);
            Path descriptor = folder.resolve("inference.desc");
            Files.write(descriptor, Inference.getDescriptor().toProto().toByteArray());
            Script.pytest(
                    "e2e",
                    Map.ofEntries(
                            entry("ISTHMUS_SHARED_GRPC", TestGateways.address(sharedGrpc)),
                            entry("ISTHMUS_SHARED_REST", TestGateways.address(sharedRest)),
                            entry("TRITON_REST", "127.0.0.1:" + servers.triton.httpPort),
                            entry("TRITON_GRPC", "127.0.0.1:" + servers.triton.grpcPort),
                            entry("ISTHMUS_GRPC", TestGateways.address(grpc)),
                            entry("ISTHMUS_REST", TestGateways.address(rest)),
                            entry("ISTHMUS_CONFIGURED", TestGateways.address(configured)),
                            entry("ISTHMUS_LOCAL", TestGateways.address(local)),
                            entry("ISTHMUS_WITNESS_REST", Integer.toString(witnessRest)),
                            entry("ISTHMUS_WITNESS_GRPC", Integer.toString(witnessGrpc)),
                            entry("ISTHMUS_DESCRIPTOR", descriptor.toString())));
        }
    }

    /** Every option with a value other than its default, and scripted upstreams, which the tests start. */
    private static String configured(RealServers servers, int witnessRest, int witnessGrpc) {
        return """
            listeners: [{port: 0, management: allow}]
            headers:
              forward: [x-request-id, "x-team-*"]
              return: [ce-id]
            answers: {non_finite: string, stream_form: oip, compress: false, errors: passed}
            health: {server_ready: all}
            upstreams:
              triton: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"], timeout: 1s}
              mlserver: {protocol: rest, endpoints: ["127.0.0.1:%2$d"]}
              witness_rest: {protocol: rest, endpoints: ["127.0.0.1:%3$d"]}
              witness_grpc: {protocol: grpc, endpoints: ["127.0.0.1:%4$d"]}
            models:
              identity: {upstream: mlserver}
              stream: {upstream: mlserver}
              witness_rest: {upstream: witness_rest}
              witness_grpc: {upstream: witness_grpc}
            default_upstream: triton
            """.formatted(servers.triton.grpcPort, servers.mlserver.httpPort, witnessRest, witnessGrpc);
    }
}

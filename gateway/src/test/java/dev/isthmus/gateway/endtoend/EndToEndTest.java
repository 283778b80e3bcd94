package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.config.ConfigLoader;
import dev.isthmus.proto.Inference;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The official clients against the gateway in front of a real Triton, a real MLServer and the embedded models. The tests
 * themselves are in {@code conformance/e2e}; the gateways run in this JVM, so that their buffers are counted.
 */
class EndToEndTest {
    private static final String FLEET = """
            listeners: [{port: 0}]
            limits: {max_body_size: 16MiB}
            upstreams:
              triton: {protocol: %1$s, endpoints: ["127.0.0.1:%2$d"]}
              mlserver: {protocol: %1$s, endpoints: ["127.0.0.1:%3$d"]}
            models:
              iris: {upstream: mlserver}
              identity: {upstream: mlserver}
            default_upstream: triton
            """;

    private static final String LOCAL = """
            listeners: [{port: 0}]
            limits: {max_body_size: 16MiB}
            local: {embedded_models: true}
            default_upstream: local
            """;

    @TempDir
    Path folder = Path.of(".");

    @Test
    void officialClients() throws Exception {
        String client = run(Map.of(), RealServer.script("install.sh").toString(), "client", "triton", "mlserver");
        Path python = Path.of(client.lines()
                        .filter(line -> line.startsWith("client="))
                        .findFirst()
                        .orElseThrow()
                        .substring("client=".length()))
                .resolve("bin/python");
        try (RealServer triton = new RealServer("triton", folder);
                RealServer mlserver = new RealServer("mlserver", folder)) {
            triton.awaitReady();
            mlserver.awaitReady();
            try (Gateway grpc = start(FLEET.formatted("grpc", triton.grpcPort, mlserver.grpcPort));
                    Gateway rest = start(FLEET.formatted("rest", triton.httpPort, mlserver.httpPort));
                    Gateway local = start(LOCAL)) {
                await().atMost(Duration.ofSeconds(30)).until(() -> grpc.ready() && rest.ready() && local.ready());
                Path descriptor = folder.resolve("inference.desc");
                Files.write(descriptor, Inference.getDescriptor().toProto().toByteArray());
                Map<String, String> gateways = Map.of(
                        "ISTHMUS_GRPC", address(grpc),
                        "ISTHMUS_REST", address(rest),
                        "ISTHMUS_LOCAL", address(local),
                        "ISTHMUS_DESCRIPTOR", descriptor.toString());
                String report = run(
                        gateways,
                        python.toString(),
                        "-m",
                        "pytest",
                        "-q",
                        "-p",
                        "no:cacheprovider",
                        "--strict-markers",
                        RealServer.script("e2e").toString());
                System.out.println(report);
                assertThat(report).contains(" passed").doesNotContain("skipped");
            }
        }
    }

    private Gateway start(String yaml) throws Exception {
        Path file = Files.createTempFile(folder, "isthmus", ".yaml");
        Files.writeString(file, yaml);
        return Gateway.start(ConfigLoader.load(file));
    }

    private static String address(Gateway gateway) {
        InetSocketAddress address = gateway.addresses().get(0);
        return address.getAddress().getHostAddress() + ":" + address.getPort();
    }

    private String run(Map<String, String> environment, String... command) throws Exception {
        Path output = Files.createTempFile(folder, "run", ".out");
        Path errors = Files.createTempFile(folder, "run", ".err");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(output.toFile()).redirectError(errors.toFile());
        builder.environment().putAll(environment);
        builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
        Process process = builder.start();
        if (!process.waitFor(20, TimeUnit.MINUTES)) {
            process.destroyForcibly();
        }
        String text = Files.readString(output);
        assertThat(process.waitFor())
                .as(String.join(" ", command) + "\n" + text + Files.readString(errors))
                .isZero();
        return text;
    }
}

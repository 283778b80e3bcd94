package dev.isthmus.gateway.upstream.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Connections;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ServerAddress.HostAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalProcessTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @TempDir
    Path folder;

    /** The program is not on the class path of these tests: each process ends at once. */
    private LocalProcess start() throws Exception {
        return LocalProcess.start(config(""));
    }

    private GatewayConfig config(String local) throws Exception {
        return ConfigLoader.parse("isthmus.yaml", """
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true, process: own%s}
                """.formatted(local), folder);
    }

    private static Path socket(LocalProcess process) {
        HostAddress address = (HostAddress) process.upstream().endpoints().getFirst();
        return Path.of(address.endpoint().host());
    }

    @Test
    void crash_ofWhichNothingCanBeRead_doesNotPreventTheNextStart() throws Exception {
        try (LocalProcess process = start()) {
            Path socket = socket(process);
            Files.write(
                    socket.resolveSibling("running"),
                    ByteBuffer.allocate(512).putInt(3).put((byte) 'x').array());
            for (int starts = 0; starts < 2; starts++) {
                Path crash = Files.writeString(socket.resolveSibling("crash.log"), "#");
                await().atMost(PATIENCE).until(() -> !Files.exists(crash));
            }
        }
    }

    @Test
    void configuration_isThereAtEachStart() throws Exception {
        try (LocalProcess process = start()) {
            Path configuration = socket(process).resolveSibling("isthmus.yaml");
            await().atMost(PATIENCE).until(() -> Files.exists(configuration));
            Files.delete(configuration);
            await().atMost(PATIENCE).until(() -> Files.exists(configuration));
        }
    }

    @Test
    void valuesThatLookLikeReferences_arriveAsTheyAre() throws Exception {
        GatewayConfig config = config(", model_control: explicit, load: ['$${a}']");
        assertThat(Objects.requireNonNull(config.local()).load()).containsExactly("${a}");
        try (LocalProcess process = LocalProcess.start(config)) {
            Path file = socket(process).resolveSibling("isthmus.yaml");
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(Objects.requireNonNull(
                                            ConfigLoader.parse("isthmus.yaml", Files.readString(file), folder)
                                                    .local())
                                    .load())
                            .containsExactly("${a}"));
        }
    }

    @Test
    void slowClients_areEndedByTheGatewayOnly() throws Exception {
        String own = new ObjectMapper().writeValueAsString(LocalProcess.configuration(config("")));
        Connections connections =
                ConfigLoader.parse("isthmus.yaml", own, folder).connections();
        assertThat(List.of(
                        connections.requestBodyTimeout(), connections.streamIdleTimeout(), connections.writeTimeout()))
                .containsOnly(Duration.ZERO);
    }

    @Test
    void options_thatOnlyOneProcessCanHave_areLeftOut() {
        List<String> shared = List.of("-Xmx1g", "-Xlog:disable", "-Xlog:all=error:stderr", "-Xlog:gc*", "-Xlog");
        List<String> own = List.of(
                "-Xlog:gc:file=gc.log",
                "-Xlog:gc:gc.log",
                "-Xlog:gc:gc.log:uptime",
                "-Xloggc:gc.log",
                "-javaagent:a.jar");
        assertThat(LocalProcess.shared(shared)).isEqualTo(shared);
        assertThat(LocalProcess.shared(own)).isEmpty();
    }
}

package dev.isthmus.bench.sizing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FleetShapeTest {
    @TempDir
    private Path folder = Path.of("");

    private final FleetShape shape = new FleetShape(40, 6, 3);

    @Test
    void configuration_isValid() throws Exception {
        List<Integer> ports = IntStream.range(9_000, 9_006).boxed().toList();
        Path token = Files.createFile(
                folder.resolve("token"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        GatewayConfig config =
                ConfigLoader.parse("f.yaml", shape.configuration(8080, 8081, token, ports, "", "other"), folder);

        assertThat(config.upstreams()).hasSize(3);
        assertThat(config.upstreams().values())
                .allSatisfy(upstream -> assertThat(upstream.endpoints()).hasSize(2));
        assertThat(config.models()).hasSize(4 * 8 + 3).containsKeys("m0", "m6", "m37", "batch-2-*");
    }

    @Test
    void models_areOnTheServersOfTheirUpstream() {
        assertThat(shape.on(0)).isEqualTo(shape.on(3)).contains("m0", "there-6", "batch-0-8", "found-9", "m27");
        Set<String> all = new HashSet<>();
        IntStream.range(0, 3).forEach(server -> all.addAll(shape.on(server)));
        assertThat(all).hasSize(40);
    }

    @Test
    void shapeWithFewerServersThanUpstreams_isRefused() {
        assertThatThrownBy(() -> new FleetShape(1, 1, 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("servers 1, upstreams 2");
    }
}

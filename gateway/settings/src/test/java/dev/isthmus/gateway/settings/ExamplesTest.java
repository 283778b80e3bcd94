package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ExamplesTest {
    private static final String WITH_FILES =
            "model_repository|token_file|tls|certificates|certificate|key|handshake_timeout|minimum_version"
                    + "|client_certificates|mode|ca|crl|server_name|header_files|user|password_file";

    private final Set<String> missing = new TreeSet<>();
    private final Set<String> found = new TreeSet<>();

    static List<Path> examples() throws IOException {
        try (Stream<Path> files = Files.list(Generated.ROOT.resolve("config"))) {
            return files.filter(file -> file.toString().endsWith(".yaml"))
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest
    @MethodSource("examples")
    void example_isGood(Path file) throws ConfigException {
        assertThat(ConfigLoader.load(file).listeners()).isNotEmpty();
    }

    /** So that editors check it. */
    @ParameterizedTest
    @MethodSource("examples")
    void example_namesItsSchema(Path file) throws IOException {
        String first = Files.readAllLines(file).getFirst();
        assertThat(first).startsWith("# yaml-language-server: $schema=");
        assertThat(file.resolveSibling(first.substring(first.indexOf('=') + 1)))
                .isEqualTo(Generated.ROOT.resolve("config/isthmus.schema.json"))
                .isRegularFile();
    }

    /** Keys with paths are commented out in the examples, since the files do not exist; here they do. */
    @Test
    void fullExample_hasEveryKey(@TempDir Path folder) throws Exception {
        Files.createDirectory(folder.resolve("models"));
        String layer = LayersConfigTest.PlainSettings.class.getName();
        LayersConfigTest.jar(
                Files.createDirectory(folder.resolve("layers")).resolve("layers.jar"),
                "1",
                "feature_lookup=" + layer + " another_layer=" + layer);
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued issued = authority.issue("server", "localhost");
        Files.move(issued.certificate(), folder.resolve("server.pem"));
        Files.move(issued.key(), folder.resolve("server.key"));
        Files.copy(authority.ca(), folder.resolve("clients.pem"));
        Files.copy(authority.ca(), folder.resolve("servers.pem"));
        Files.copy(authority.ca(), folder.resolve("collector-ca.pem"));
        Files.move(authority.revoke(), folder.resolve("clients.crl"));
        for (String secret : List.of("token", "dashboard.token", "peers.token", "oidc.secret", "collector.key")) {
            Files.setPosixFilePermissions(
                    Files.writeString(folder.resolve(secret), "secret"), PosixFilePermissions.fromString("rw-------"));
        }
        String text = Files.readString(Generated.ROOT.resolve("config/isthmus.yaml"))
                .replaceAll("(?m)^#: ", "")
                .replaceAll("(?m)^( *)# (( *)(- )?(" + WITH_FILES + "|access):)", "$1$2");
        Files.setPosixFilePermissions(
                Files.writeString(folder.resolve("api-keys"), ""), PosixFilePermissions.fromString("rw-------"));
        ConfigLoader.parse("isthmus.yaml", text, folder);
        Map<?, ?> tree = new YAMLMapper().readValue(text, Map.class);
        look("", new Section(GatewayConfig.class), tree);
        missing.removeAll(found);
        // It excludes jwks_url.
        missing.remove(".authentication.jwt.jwks_file");
        // It excludes url.
        missing.remove(".payload_log.file");
        // They exclude each other.
        missing.removeIf(key -> key.matches("\\.shared\\.(sentinel|sentinel\\..*|cluster|tls)"));
        // The same section as that of a listener.
        missing.removeIf(key -> key.startsWith(".admin.tls."));
        // The same section as that of an upstream.
        missing.removeIf(
                key -> key.startsWith(".discover.kserve.upstream.") || key.startsWith(".external_authorization.tls."));
        assertThat(missing).isEmpty();
    }

    private void look(String path, Section section, Map<?, ?> tree) {
        ConfigKey.names(section.type())
                .forEach(name -> (tree.get(name) == null ? missing : found).add(path + "." + name));
        for (ConfigKey key : section.keys()) {
            String where = path + "." + key.name();
            Object value = tree.get(key.name());
            if (value != null) {
                within(where, key.shape(), value);
            }
        }
    }

    private void within(String where, ValueShape shape, Object value) {
        switch (shape) {
            case Section inner -> look(where, inner, (Map<?, ?>) value);
            case Items items -> ((List<?>) value).forEach(each -> within(where, items.item(), each));
            case Names names -> ((Map<?, ?>) value).values().forEach(each -> within(where, names.value(), each));
            default -> {}
        }
    }
}

package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SharedConfigTest {

    @TempDir
    Path folder = Path.of(".");

    private SharedConfig read(String shared) throws ConfigException {
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", yaml(shared), folder);
        return Objects.requireNonNull(config.shared());
    }

    private static String yaml(String shared) {
        return "local: {embedded_models: true}\ndefault_upstream: local\nshared: " + shared + "\n";
    }

    private List<String> problems(String shared) {
        return catchThrowableOfType(ConfigException.class, () -> read(shared)).problems();
    }

    @Test
    void url_isShortForAll() throws Exception {
        assertThat(read("redis://redis.example:6380/3"))
                .isEqualTo(new SharedConfig(
                        "redis://redis.example:6380/3",
                        null,
                        null,
                        null,
                        Duration.ofMillis(250),
                        SharedConfig.FailureMode.LOCAL,
                        "isthmus:"))
                .returns("redis.example", SharedConfig::host)
                .returns(6380, SharedConfig::port)
                .returns(3, SharedConfig::database)
                .returns(false, SharedConfig::secure);
    }

    @ParameterizedTest
    @CsvSource({
        "redis://h, h, 6379, 0, false",
        "redis://h/, h, 6379, 0, false",
        "'rediss://[::1]:1/15', ::1, 1, 15, true"
    })
    void parts_haveDefaults(String url, String host, int port, int database, boolean secure) throws Exception {
        assertThat(read("\"" + url + "\""))
                .returns(host, SharedConfig::host)
                .returns(port, SharedConfig::port)
                .returns(database, SharedConfig::database)
                .returns(secure, SharedConfig::secure);
    }

    @Test
    void section_hasAllKeys() throws Exception {
        Path password = Files.writeString(folder.resolve("password"), "x");
        Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-------"));
        assertThat(
                        read(
                                "{url: redis://h, user: u, password_file: password, timeout: 1s, on_failure: closed, prefix: a}"))
                .isEqualTo(new SharedConfig(
                        "redis://h", "u", password, null, Duration.ofSeconds(1), SharedConfig.FailureMode.CLOSED, "a"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://h",
                "redis:h",
                "redis://h:0",
                "redis://h:65536",
                "redis://h/x",
                "redis://h/1/2",
                "redis://h?x=1",
                "h:6379"
            })
    void url_ofAnotherForm_isRefused(String url) {
        assertThat(problems(url))
                .containsExactly(
                        "isthmus.yaml:3:9: shared: url: redis://HOST:PORT/DATABASE or rediss://HOST:PORT/DATABASE"
                                + " is expected, without user and password, got '" + url + "'");
    }

    @Test
    void password_inTheUrl_isRefused_andNotShown() {
        assertThat(problems("redis://u:secret@h"))
                .singleElement()
                .asString()
                .endsWith("without user and password, got 'redis://...@h'");
    }

    @Test
    void keysThatNeedOthers_areRefusedAlone() throws Exception {
        assertThat(problems("{url: redis://h, user: u}"))
                .containsExactly("isthmus.yaml:3:32: shared: user: 'password_file' is expected with it");
        assertThat(problems("{url: redis://h, ca: x}"))
                .containsExactly("isthmus.yaml:3:30: shared: ca: a rediss:// 'url' is expected with it");
        assertThat(problems("{url: redis://h, timeout: 11s}"))
                .containsExactly("isthmus.yaml:3:35: shared: timeout: at most 10s is expected, got '11s'");
        assertThat(problems("{url: redis://h, on_failure: shut}"))
                .containsExactly(
                        "isthmus.yaml:3:38: shared: on_failure: one of local, open, closed is expected, got 'shut'");
        assertThat(problems("{}")).containsExactly("isthmus.yaml:3:9: shared: 'url' is missing");
    }

    @Test
    void passwordFile_thatOthersRead_isRefused() throws Exception {
        Path password = Files.writeString(folder.resolve("password"), "x");
        Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(problems("{url: redis://h, password_file: password}"))
                .singleElement()
                .asString()
                .contains("shared: password_file: " + password + " has mode 644");
        assertThat(problems("{url: redis://h, password_file: none}"))
                .singleElement()
                .asString()
                .contains("shared: password_file: ", "none cannot be read");
    }
}

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
                        List.of(),
                        false,
                        null,
                        null,
                        null,
                        null,
                        null,
                        Duration.ofMillis(250),
                        Duration.ofSeconds(5),
                        SharedConfig.FailureMode.LOCAL,
                        "isthmus:"))
                .returns(new Endpoint("redis.example", 6380), SharedConfig::server)
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
                .returns(new Endpoint(host, port), SharedConfig::server)
                .returns(database, SharedConfig::database)
                .returns(secure, SharedConfig::secure);
    }

    @Test
    void section_hasAllKeys() throws Exception {
        Path password = Files.writeString(folder.resolve("password"), "x");
        Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-------"));
        assertThat(
                        read(
                                "{url: redis://h, user: u, password_file: password, timeout: 1s, recovery: 20s, on_failure: closed, prefix: a}"))
                .isEqualTo(new SharedConfig(
                        "redis://h",
                        null,
                        List.of(),
                        false,
                        "u",
                        password,
                        null,
                        null,
                        null,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(20),
                        SharedConfig.FailureMode.CLOSED,
                        "a"));
    }

    @Test
    void sentinel_hasAllKeys() throws Exception {
        Path password = Files.writeString(folder.resolve("password"), "x");
        Files.setPosixFilePermissions(password, PosixFilePermissions.fromString("rw-------"));
        assertThat(
                        read(
                                "{sentinel: {master: m, endpoints: ['a:1', '[::1]:2'], database: 3, user: u, password_file: password}, tls: true}"))
                .returns(
                        new SharedConfig.SentinelConfig(
                                "m", List.of(new Endpoint("a", 1), new Endpoint("::1", 2)), 3, "u", password),
                        SharedConfig::sentinel)
                .returns(3, SharedConfig::database)
                .returns(true, SharedConfig::secure)
                .returns("Redis master 'm' of the sentinels a:1, [::1]:2", SharedConfig::servers);
    }

    @Test
    void cluster_isAListOfNodes() throws Exception {
        assertThat(read("{cluster: ['a:1', 'b:2']}"))
                .returns(List.of(new Endpoint("a", 1), new Endpoint("b", 2)), SharedConfig::cluster)
                .returns(0, SharedConfig::database)
                .returns(false, SharedConfig::secure)
                .returns("Redis Cluster at a:1, b:2", SharedConfig::servers);
    }

    @Test
    void servers_areGivenInOneWay() {
        assertThat(problems("{}"))
                .containsExactly(
                        "isthmus.yaml:3:9: shared: one of 'url', 'sentinel' and 'cluster' is expected, got none");
        assertThat(problems("{url: redis://h, cluster: ['a:1']}"))
                .containsExactly(
                        "isthmus.yaml:3:9: shared: one of 'url', 'sentinel' and 'cluster' is expected, got url and"
                                + " cluster");
        assertThat(problems("{sentinel: {endpoints: ['a:1']}}"))
                .containsExactly("isthmus.yaml:3:20: shared: sentinel: 'master' is missing");
    }

    @Test
    void listedServers_areCheckedOneByOne() {
        assertThat(problems("{cluster: ['a:1', 'b:0', 'c']}"))
                .containsExactly(
                        "isthmus.yaml:3:27: shared: cluster: host:port with a port from 1 to 65535 is expected, got"
                                + " 'b:0'",
                        "isthmus.yaml:3:34: shared: cluster: host:port with a port from 1 to 65535 is expected, got 'c'");
        assertThat(problems("{cluster: ['a:1', 'b:1', 'a:1']}"))
                .containsExactly("isthmus.yaml:3:34: shared: cluster: a:1 is given twice");
        assertThat(problems("{sentinel: {master: m, endpoints: ['a:1', 'a:1']}}"))
                .containsExactly("isthmus.yaml:3:51: shared: sentinel: endpoints: a:1 is given twice");
        assertThat(problems("{sentinel: {master: m, endpoints: ['a:1'], user: u}}"))
                .containsExactly("isthmus.yaml:3:58: shared: sentinel: user: 'password_file' is expected with it");
        assertThat(problems("{sentinel: {master: m, endpoints: ['a:1'], password_file: none}}"))
                .singleElement()
                .asString()
                .contains("isthmus.yaml:3:67: shared: sentinel: password_file: ", "none cannot be read");
    }

    @Test
    void tls_isInTheUrl_orAKeyBesideTheOthers() {
        assertThat(problems("{url: redis://h, tls: true}"))
                .containsExactly("isthmus.yaml:3:31: shared: tls: it is for 'sentinel' and 'cluster'; a rediss:// 'url'"
                        + " is expected instead");
        assertThat(problems("{cluster: ['a:1'], ca: x}"))
                .containsExactly("isthmus.yaml:3:32: shared: ca: 'tls: true' is expected with it");
    }

    @Test
    void certificate_needsItsKey_andTls() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued own = authority.issue("own", "gateway");
        TestAuthority.Issued other = authority.issue("other", "gateway");
        String shared = "{url: %s, certificate: %s, key: %s}";
        assertThat(read(shared.formatted("rediss://h", own.certificate(), own.key())))
                .returns(own.certificate(), SharedConfig::certificate)
                .returns(own.key(), SharedConfig::key);
        assertThat(problems(shared.formatted("redis://h", own.certificate(), own.key())))
                .hasSize(2)
                .anyMatch(each -> each.endsWith("shared: certificate: a rediss:// 'url' is expected with it"))
                .anyMatch(each -> each.endsWith("shared: key: a rediss:// 'url' is expected with it"));
        assertThat(problems("{url: rediss://h, certificate: " + own.certificate() + "}"))
                .containsExactly("isthmus.yaml:3:9: shared: 'certificate' and 'key' are expected together");
        assertThat(problems(shared.formatted("rediss://h", own.certificate(), other.key())))
                .singleElement()
                .asString()
                .contains("shared: key: ", "does not fit the certificate in");
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
        assertThat(problems("{url: redis://h, recovery: 61s}"))
                .containsExactly("isthmus.yaml:3:36: shared: recovery: at most 1m is expected, got '61s'");
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

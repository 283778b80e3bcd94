package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UpstreamConfigTest {
    @TempDir
    Path folder = Path.of(".");

    private GatewayConfig parse(String keys) throws ConfigException {
        String yaml = "upstreams: {u: {protocol: rest, endpoints: ['127.0.0.1:1'], " + keys + "}}\ndefault_upstream: u";
        return ConfigLoader.parse(
                List.of(new ConfigText("f.yaml", yaml, folder)),
                Map.of("TOKEN", "s3cret-t0ken")::get,
                new ArrayList<>());
    }

    private UpstreamConfig upstream(String keys) throws ConfigException {
        return Objects.requireNonNull(parse(keys).upstreams().get("u"));
    }

    private List<String> problems(String keys) {
        return Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> parse(keys)))
                .problems()
                .stream()
                .map(each -> each.replaceFirst("^f.yaml:1:[0-9]+: ", ""))
                .toList();
    }

    @Test
    void headers_areReadInLowerCase_withReferences() throws Exception {
        Files.writeString(folder.resolve("key"), "k3y-of-file\n");
        assertThat(upstream("headers: {Authorization: 'Bearer ${TOKEN}', x-api-key: '${file:key}', x-tenant: 7}")
                        .headers())
                .isEqualTo(Map.of(
                        "authorization", new SecretText("Bearer s3cret-t0ken"),
                        "x-api-key", new SecretText("k3y-of-file"),
                        "x-tenant", new SecretText("7")));
    }

    @Test
    void headers_areShownNowhere() throws Exception {
        GatewayConfig config = parse("headers: {Authorization: 'Bearer ${TOKEN}', x-literal: plain-s3cret}");

        assertThat(config.toString()).doesNotContain("s3cret");
        assertThat(new ObjectMapper().writeValueAsString(config.values())).doesNotContain("s3cret");
        assertThat(new ObjectMapper().writeValueAsString(config.document()))
                .doesNotContain("s3cret")
                .contains("\"headers\":{\"authorization\":\"Bearer ${TOKEN}\",\"x-literal\":\"(hidden)\"}");
    }

    @Test
    void anotherHeader_isAChange_thatClosesNothing() throws Exception {
        ConfigDiff diff = ConfigDiff.of(parse("headers: {x-key: '1-s3cret'}"), parse("headers: {x-key: '2-s3cret'}"));

        assertThat(diff.changes()).containsExactly("upstream 'u': headers: x-key: (hidden): another value");
        assertThat(diff.effects())
                .containsExactly("upstream 'u': servers that stay keep their connections, health and ejections");
        assertThat(ConfigDiff.of(parse(""), parse("headers: {x-key: '1-s3cret'}"))
                        .changes())
                .containsExactly("upstream 'u': headers: x-key: none -> (hidden)");
    }

    @Test
    void fileThatChanges_isAnotherValueOfItsReference() throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "first-s3cret");
        GatewayConfig before = parse("headers: {x-key: '${file:key}'}");
        Files.writeString(file, "second-s3cret");

        assertThat(ConfigDiff.of(before, parse("headers: {x-key: '${file:key}'}"))
                        .changes())
                .containsExactly("upstream 'u': headers: x-key: ${file:key}: another value");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "host",
                "Content-Length",
                "content_length",
                "te",
                "connection",
                "transfer-encoding",
                "upgrade",
                "accept",
                "user-agent",
                "grpc-timeout",
                "grpc_timeout",
                "isthmus-hops",
                "x-isthmus-principal",
                "x-request-id",
                "x_request_id",
                "x-request-timeout-ms",
                "x-forwarded-for",
                "traceparent",
                "x-key-bin",
                "x!key"
            })
    void headerThatIsNotForTheGateway_isRefused(String name) {
        assertThat(problems("headers: {" + name + ": a-s3cret}"))
                .containsExactly("upstream 'u': headers: a name of a-z, 0-9, '-', '_' and '.' that neither"
                        + " HTTP, gRPC nor the gateway uses is expected, got '" + name.toLowerCase(Locale.ROOT)
                        + "'");
    }

    @Test
    void nameThatIsNone_isRefused() {
        assertThat(problems("headers: {':authority': x}"))
                .containsExactly("upstream 'u': headers: a name is expected as the key, got ':authority'");
    }

    @ParameterizedTest
    @CsvSource({
        "\"a-s3cret\\r\\nx: y\", CARRIAGE RETURN (CR) as character 9",
        "\"a-s3cret\\n\", LINE FEED (LF) as character 9",
        "\" a-s3cret\", SPACE as character 1",
        "\"a-s3cret \", SPACE as character 9",
        "\"a-\\0s3cret\", NULL as character 3",
        "\"a-s3cret\u00e9\", LATIN SMALL LETTER E WITH ACUTE as character 9"
    })
    void valueThatCannotBeSent_isRefused_andNotShown(String value, String got) {
        assertThat(problems("headers: {x-key: " + value + "}"))
                .containsExactly("upstream 'u': header 'x-key': visible characters of US-ASCII with spaces"
                        + " between them are expected, got " + got);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/serving", "/serving/ns/my-model.v1", "/a..b/...", "/a%20b/~c", "/a:b@c;d=e,f"})
    void pathPrefix_isAPath(String path) throws ConfigException {
        assertThat(upstream("path_prefix: '" + path + "'").pathPrefix()).isEqualTo(path);
    }

    @Test
    void pathPrefix_ofAnyLength_isRead() throws ConfigException {
        String path = "/a%20b".repeat(20_000);
        assertThat(upstream("path_prefix: '" + path + "'").pathPrefix()).isEqualTo(path);
        assertThat(problems("path_prefix: '" + path + "/'")).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "serving",
                "/",
                "/serving/",
                "//serving",
                "/serving//ns",
                "/..",
                "/serving/../admin",
                "/serving/.",
                "/serving/%2e%2E/admin",
                "/serving/.%2e",
                "/a%2fb",
                "/a%5Cb",
                "/a%00",
                "/a%2",
                "/a?key=1",
                "/a#b",
                "/a b",
                "/ä",
                "https://gw.example/serving"
            })
    void pathPrefix_thatIsNone_isRefused(String path) {
        assertThat(problems("path_prefix: '" + path + "'"))
                .containsExactly("upstream 'u': path_prefix: a path as /serving/models is expected, without"
                        + " '.', '..', '?', '#' and a slash at its end, got '" + path + "'");
    }

    @Test
    void pathPrefix_isForRestOnly() {
        assertThat(problems("path_prefix: /a}, v: {protocol: grpc, endpoints: ['a:1'], path_prefix: /a"))
                .containsExactly("upstream 'v': path_prefix: protocol rest is expected with it, since gRPC's paths"
                        + " are methods, got '/a'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"models.example", "models.example:8443", "10.0.0.1", "[::1]:80", "my_model.ns"})
    void host_isAHost(String host) throws ConfigException {
        assertThat(upstream("host: '" + host + "'").host()).isEqualTo(host);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "a/b", "http://a", "a:port", "a:123456", "user@a", "a?b", "::1", "a,b"})
    void host_thatIsNone_isRefused(String host) {
        assertThat(problems("host: '" + host + "'"))
                .containsExactly("upstream 'u': host: a host name or IP address, or one with a port, is"
                        + " expected, got '" + host + "'");
    }

    @Test
    void endpointThatIsAUrl_isRefused_withWhatItsPartsAre() {
        assertThat(problems("path_prefix: /a}, v: {protocol: rest, endpoints: ['https://gw.example:443/serving?x#y']"))
                .containsExactly("upstream 'v': endpoint: host:port with a port from 1 to 65535, srv:NAME,"
                        + " or k8s:NAMESPACE/SERVICE:PORT-NAME is expected, got 'https://gw.example:443/serving?x#y';"
                        + " 'tls', 'host' and 'path_prefix' say the rest of a URL");
    }
}

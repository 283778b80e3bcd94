package dev.isthmus.gateway.settings;

import static dev.isthmus.gateway.settings.ConfigSamples.model;
import static dev.isthmus.gateway.settings.ConfigSamples.split;
import static dev.isthmus.gateway.settings.ConfigSamples.upstream;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Problems between sections that are valid individually. */
class ConfigChecksTest {
    private static String peers(String keys) {
        return "{admin: {peers: {endpoints: [\"a:9901\"], " + keys + "}}, " + LOCAL + "}";
    }

    private static String oidc(String issuer, String more) {
        String roles = more.startsWith("roles") ? "" : "roles: {a: read}";
        return "{admin: {oidc: {issuer: '" + issuer + "', client_id: c, " + more + (more.isEmpty() ? "" : ", ") + roles
                + "}}, " + LOCAL + "}";
    }

    private static final String ISSUER = "{issuer: i, audiences: [a], jwks_url: 'https://a/'}";
    private static final String LOCAL = "local: {embedded_models: true}, default_upstream: local";

    private static List<String> problems(String yaml) {
        return Objects.requireNonNull(catchThrowableOfType(
                        ConfigException.class, () -> ConfigLoader.parse("f.yaml", yaml, Path.of("."))))
                .problems();
    }

    static Stream<Arguments> access() {
        return Stream.of(
                arguments(
                        "{listeners: [{host: 0.0.0.0}], " + LOCAL + "}",
                        "f.yaml:1:21: listener 0.0.0.0:8080: host: '0.0.0.0' is not loopback, so everybody who "
                                + "reaches it may send requests: add a section 'authentication', or 'access: open'"),
                arguments("{listeners: [{host: some.name}], " + LOCAL + "}", "'some.name' is not loopback"),
                arguments(
                        "{listeners: [{management: allow}], access: {rules: [{name: r, may: [infer]}]}, " + LOCAL + "}",
                        "management: with 'access' its rules decide"),
                arguments(
                        "{authentication: {}, " + LOCAL + "}",
                        "authentication: 'api_keys', 'jwt' or 'client_certificates' is expected"),
                arguments(
                        "{authentication: {api_keys: {file: none}}, " + LOCAL + "}",
                        "authentication: api_keys: file: ./none cannot be read"),
                arguments(jwt(""), "one of 'jwks_file' and 'jwks_url' is expected"),
                arguments(jwt(", jwks_file: none"), "jwks_file: ./none cannot be read"),
                arguments(
                        jwt(", jwks_url: 'http://example.com/keys'"), "an https URL, or http on loopback, is expected"),
                arguments(jwt(", jwks_url: 'https://a:b@example.com/'"), "an https URL"),
                arguments(jwt(", jwks_url: 'https://a/', jwks_ca: none"), "jwt: jwks_ca: ./none does not exist"),
                arguments(
                        "{authentication: {jwt: [" + ISSUER + ", " + ISSUER + "]}, " + LOCAL + "}",
                        "f.yaml:1:78: authentication: jwt: issuer: i is given twice"),
                arguments("{authentication: {jwt: []}, " + LOCAL + "}", "jwt: at least one entry is expected"),
                arguments("{authentication: {jwt: i}, " + LOCAL + "}", "jwt: a list is expected, got 'i'"),
                arguments(
                        "{authentication: {jwt: [" + ISSUER + ", {issuer: j}]}, " + LOCAL + "}",
                        "jwt: 'audiences' is missing"),
                arguments(jwt(", jwks_url: 'http://127.0.0.1/', jwks_ca: none"), "jwks_ca: an https URL in 'jwks_url'"),
                arguments(rule("who: {names: [a]}"), "who: without 'authentication' no caller has a name"),
                arguments(rule("who: {listeners: ['127.0.0.1:80']}"), "no listener is '127.0.0.1:80'"),
                arguments(rule("versions: ['1']"), "load, trace, log and shared_memory name no version"),
                arguments(
                        "{authentication: {client_certificates: {}}, models: {m: {upstream: local, sticky: {header: "
                                + "x-isthmus-principal}}}, " + LOCAL + "}",
                        "model 'm': header 'x-isthmus-principal' is set by the gateway"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "''|'endpoints' is missing",
                "endpoints: []|endpoints: at least one entry is expected",
                "endpoints: [a]|host:port with a port from 1 to 65535 is expected",
                "endpoints: [a:1, a:1]|endpoints: a:1 is given twice",
                "endpoints: [a:1], timeout: 11s|timeout: at most 10s is expected, got '11s'",
                "endpoints: [a:1], timeout: 0s|timeout: a duration",
                "endpoints: [a:1], cache: 2h|cache: at most 1h is expected, got '2h'",
                "endpoints: [a:1], on_failure: maybe|on_failure: ",
                "endpoints: [a:1], max_requests: 0|max_requests: a whole number from 1 to 100000",
                "endpoints: [a:1], headers: [a b]|header: a header name is expected",
                "endpoints: [a:1], tls: {ca: none}|tls: ca: ./none does not exist"
            })
    void externalAuthorization_isChecked(String keys, String problem) {
        String section = keys.equals("''") ? "" : keys;
        assertThat(problems("{external_authorization: {" + section + "}, " + LOCAL + "}"))
                .anySatisfy(each -> assertThat(each).contains("external_authorization", problem));
    }

    @Test
    void issuers_areAListOrOne() throws Exception {
        for (String issuers : List.of(
                ISSUER,
                "[" + ISSUER + "]",
                "[" + ISSUER + ", {issuer: j, audiences: [b], algorithms: "
                        + "[ps256, es512], jwks_url: 'https://b/'}]")) {
            GatewayConfig config = ConfigLoader.parse(
                    "f.yaml", "{authentication: {jwt: " + issuers + "}, " + LOCAL + "}", Path.of("."));
            assertThat(Objects.requireNonNull(config.authentication()).jwt())
                    .extracting(JwtConfig::issuer)
                    .startsWith("i");
        }
    }

    private static String jwt(String keys) {
        return "{authentication: {jwt: {issuer: i, audiences: [a]" + keys + "}}, " + LOCAL + "}";
    }

    private static String rule(String keys) {
        return "{access: {rules: [{name: r, may: [load], " + keys + "}]}, " + LOCAL + "}";
    }

    static Stream<Arguments> tracing() {
        return Stream.of(
                arguments(traces(""), "f.yaml:1:11: tracing: 'endpoint' is missing"),
                arguments(
                        traces("endpoint: 'collector:4317'"),
                        "tracing: endpoint: a URL as http://127.0.0.1:4318/v1/traces is expected, http or https, without "
                                + "credentials, got 'collector:4317'"),
                arguments(traces("endpoint: 'http:///v1/traces'"), "tracing: endpoint: a URL"),
                arguments(traces("endpoint: 'grpc://a:4317'"), "tracing: endpoint: a URL"),
                arguments(
                        traces("endpoint: 'https://me:sec/ret@a/v1/traces'"),
                        "without credentials, got 'https://...@a/v1/traces'"),
                arguments(traces("endpoint: 'http://a/v1/traces#x'"), "tracing: endpoint: a URL"),
                arguments(traces("endpoint: 'http://a b/'"), "tracing: endpoint: a URL"),
                arguments(
                        traces("endpoint: 'http://[::1]/', header_files: {x-key: none}"),
                        "tracing: header_files: ./none cannot be read"),
                arguments(
                        traces("endpoint: 'https://a/', header_files: {Content-Type: src}"),
                        "tracing: header_files: 'content-type' is set by the gateway"),
                arguments(
                        traces("endpoint: 'https://a/', header_files: {'x y': src}"),
                        "header_files: a name is expected as the key, got 'x y'"),
                arguments(traces("endpoint: 'https://a/', ca: none"), "tracing: ca: ./none does not exist"),
                arguments(
                        traces("endpoint: 'https://a/', resource: {service.name: x}"),
                        "tracing: resource: service.name: 'service_name' is expected instead"),
                arguments(traces("endpoint: 'https://a/', queue: 0"), "a whole number from 1 to 1000000 is expected"),
                arguments(traces("endpoint: 'https://a/', sample: 2"), "a share such as 20% or 0.5% is expected"),
                arguments(
                        traces("endpoint: 'https://a/', parent: maybe"),
                        "one of respected, ignored is expected, got 'maybe'"));
    }

    private static String kserve(String keys) {
        return "{discover: {kserve: [{" + keys + "}]}}";
    }

    private static String traces(String keys) {
        return "{tracing: {" + keys + "}, " + LOCAL + "}";
    }

    static Stream<Arguments> servers() {
        return Stream.of(
                arguments(
                        "{admin: {host: 0.0.0.0}, " + LOCAL + "}",
                        "admin: 'token_file', 'tokens' or 'oidc' is required if the host is not loopback, got '0.0.0.0'"),
                arguments(
                        "{listeners: [{proxy_protocol: true}], " + LOCAL + "}",
                        "listener 127.0.0.1:8080: proxy_protocol: 'trusted_proxies' is expected"),
                arguments(
                        "{listeners: [{cors: {origins: ['*', 'https://a.example'], credentials: true}}], " + LOCAL
                                + "}",
                        "listener 127.0.0.1:8080: cors: credentials: false is expected with the origin *"),
                arguments(
                        "{listeners: [{cors: {origins: ['https://a.example/']}}], " + LOCAL + "}",
                        "an origin such as https://app.example.com"),
                arguments(
                        "{listeners: [{port: 1}, {port: 1, trusted_proxies: [10.0.0.1]}], " + LOCAL + "}",
                        "listener: 127.0.0.1:1 is given twice"),
                arguments("{admin: {token_file: none}, " + LOCAL + "}", "/none cannot be read"),
                arguments("{admin: {token_file: src}, " + LOCAL + "}", "src is not a file"),
                arguments(
                        "{admin: {tokens: {'a b': {file: src, role: read}}}, " + LOCAL + "}",
                        "admin: tokens: a name of at most 64 letters, digits, '.', '_', '@' and '-' is expected, got"
                                + " 'a b'"),
                arguments(
                        "{admin: {tokens: {alice: {file: none, role: read}}}, " + LOCAL + "}",
                        "f.yaml:1:33: admin: tokens: alice: file: "),
                arguments("{admin: {tokens: {alice: {file: src}}}, " + LOCAL + "}", "'role' is missing"),
                arguments(
                        "{admin: {dashboards: 'javascript:alert(1)'}, " + LOCAL + "}",
                        "f.yaml:1:22: admin: dashboards: a URL as https://grafana.example/d/isthmus is expected"),
                arguments("{admin: {tokens: {alice: {file: src, role: root}}}, " + LOCAL + "}", "read, operate, admin"),
                arguments(
                        "{admin: {session: {idle: 30s}}, " + LOCAL + "}",
                        "admin: session: idle: at least 1m is expected, got '30s'"),
                arguments(peers("interval: 4s"), "admin: peers: interval: at least 5s is expected, got '4s'"),
                arguments(peers("timeout: 11s"), "admin: peers: timeout: at most 10s is expected, got '11s'"),
                arguments(peers("ca: missing"), "admin: peers: ca: 'tls: true' is expected with it"),
                arguments(peers("server_name: a"), "admin: peers: server_name: 'tls: true' is expected with it"),
                arguments(peers("tls: true, ca: missing"), "admin: peers: ca: "),
                arguments(peers("token_file: missing"), "admin: peers: token_file: "),
                arguments("{admin: {peers: {endpoints: []}}, " + LOCAL + "}", "endpoints"),
                arguments(
                        oidc("http://login.example", ""), "issuer: an https URL without a query, or http on loopback"),
                arguments(oidc("https://a/?b", ""), "issuer: an https URL without a query"),
                arguments(
                        oidc("https://a", "redirect_url: 'https://b/callback'"),
                        "redirect_url: an http or https URL with the path /session/oidc/callback"),
                arguments(oidc("https://a", "scopes: ['a b']"), "scopes: printable ASCII without spaces and quotes"),
                arguments(oidc("https://a", "client_secret_file: missing"), "client_secret_file: "),
                arguments(oidc("https://a", "ca: missing"), "admin: oidc: ca: "),
                arguments(oidc("https://a", "roles: {a: root}"), "read, operate, admin"),
                arguments(oidc("https://a", "roles: {}"), "roles: at least one group is expected"),
                arguments("{admin: {port: 8080}, " + LOCAL + "}", "admin: 127.0.0.1:8080 is a listener already"),
                arguments("{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}}", "nothing to serve: 'models'"),
                arguments(
                        "{limits: {max_buffered: 0%}, " + LOCAL + "}",
                        "f.yaml:1:25: limits: max_buffered: more than 0% is expected, got '0%'"),
                arguments("{limits: {}}", "nothing to serve: 'upstreams', 'local' or 'discover' is expected"),
                arguments(kserve("selector: a"), "f.yaml:1:22: discover: kserve: 'namespace' is missing"),
                arguments(
                        kserve("namespace: My_Models"),
                        "discover: kserve: namespace: the name of a namespace is expected, got 'My_Models'"),
                arguments(
                        kserve("namespace: a, selector: 'a&watch'"),
                        "discover: kserve: selector: a label selector such as team=vision is expected, got 'a&watch'"),
                arguments(
                        kserve("namespace: a, port: '80/x'"),
                        "discover: kserve: port: the name of a port is expected, got '80/x'"),
                arguments(
                        kserve("namespace: a}, {namespace: a, protocol: grpc"),
                        "discover: kserve: namespace 'a' is given twice with this selector"),
                arguments(
                        kserve("namespace: a, upstream: {try_timeout: 61s}"),
                        "discover: kserve: upstream: try_timeout: less than the timeout of 60s"),
                arguments(kserve("namespace: a, upstream: {time: 1s}"), "unknown key 'time' in"),
                arguments(
                        upstream("try_timeout: 60s"),
                        "upstream 't': try_timeout: less than the timeout of 60s for all attempts is expected, got '60s'"),
                arguments(upstream("retry: {on: []}"), "upstream 't': retry: on: with retries, at least one of"),
                arguments(upstream("retry: {on: [timeout]}"), "retry: on: timeout needs a 'try_timeout'"),
                arguments(
                        upstream("hedging: {quantile: 100%}"),
                        "hedging: quantile: more than 0% and less than 100% is expected, got '100%'"),
                arguments(upstream("hedging: {budget: 0%}"), "hedging: budget: more than 0% is expected"),
                arguments(
                        upstream("queue: {max_waiting: 5, max_waiting_per_caller: 6}"),
                        "queue: max_waiting_per_caller: at most max_waiting, 5, is expected, got '6'"),
                arguments(upstream("queue: {reserved: 51%}"), "queue: reserved: at most 50% is expected, got '51%'"),
                arguments(upstream("queue: {max_wait: 61s}"), "queue: max_wait: at most 60s is expected, got '61s'"),
                arguments(
                        upstream("queue: {weights: {alice: 0}}"),
                        "queue: weight 'alice': a whole number from 1 to 1000 is expected, got '0'"),
                arguments(
                        upstream("queue: {shares: {bert: half}}"),
                        "queue: share 'bert': a whole number from 1 to 1000 is expected, got 'half'"),
                arguments(
                        upstream("queue: {max_waiting: 0}"),
                        "queue: max_waiting: a whole number from 1 to 100000 is expected, got '0'"),
                arguments(
                        upstream("adaptive_concurrency: {min: 5, max: 4}"),
                        "adaptive_concurrency: min: at most max, 4, is expected, got '5'"),
                arguments(
                        upstream("breaker: {window: 10}"),
                        "breaker: minimum_calls: at most the window of 10 calls is expected, got '20'"),
                arguments(
                        upstream("dialect: kserve, balance: {policy: queue_aware}"),
                        "queue_aware reads Triton's metrics; dialect triton or auto is expected"),
                arguments(
                        "{upstreams: {t: {protocol: grpc, endpoints: ['a:1', 'a:1']}}, default_upstream: t}",
                        "upstream 't': endpoint: a:1 is given twice"),
                arguments(
                        "{upstreams: {t: {protocol: grpc, endpoints: ['srv:10.0.0.1']}}, default_upstream: t}",
                        "endpoint: srv: needs a name of SRV records, got the address '10.0.0.1'"),
                arguments(
                        "{upstreams: {t: {protocol: grpc, endpoints: ['k8s:ml/t:grpc', 'k8s:ml/t:grpc']}},"
                                + " default_upstream: t}",
                        "upstream 't': endpoint: k8s:ml/t:grpc is given twice"),
                arguments(
                        "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, default_upstream: t,"
                                + " kubernetes: {api_server: 'http://10.0.0.1:443'}}",
                        "kubernetes: api_server: an https URL of host and port is expected, got 'http://10.0.0.1:443'"),
                arguments(
                        "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, default_upstream: t,"
                                + " kubernetes: {api_server: 'https://10.0.0.1/api'}}",
                        "kubernetes: api_server: an https URL of host and port is expected, got 'https://10.0.0.1/api'"));
    }

    static Stream<Arguments> models() {
        return Stream.of(
                arguments(model("targets: [{upstream: t}]"), "with 'targets', 'upstream' must be set on each target"),
                arguments(split("model: x"), "model 'm': with 'targets', 'model' must be set on each target"),
                arguments(split("version: 1"), "'version' must be set on each target"),
                arguments(
                        split("").replace("upstream: u", "upstream: w"), "target: upstream: no upstream is named 'w'"),
                arguments(
                        split("").replace("name: b", "name: a"),
                        "target: two targets have the name 'a'; give each a 'name'"),
                arguments(
                        split("")
                                .replace("upstream: u", "weight: 0, upstream: u")
                                .replace("upstream: t}, {", "upstream: t, weight: 0}, {"),
                        "targets: at least one weight above 0 is expected"),
                arguments(model("versions: {'3': '4'}"), "versions: a label is expected, got the version '3'"),
                arguments(model("versions: {a: b, b: '1'}"), "version 'a': a version is expected, got the label 'b'"),
                arguments(
                        model("versions: {stable: '1'}, default_version: stabel"),
                        "or a label of 'versions' is expected, got 'stabel' - did you mean 'stable'?"),
                arguments(split("rules: [{headers: {x: y}, target: c}]"), "rule: target: no target is named 'c'"),
                arguments(model("rules: [{headers: {x: y}, target: c}]"), "no target is named 'c'"),
                arguments(model("version: a/b"), "model 'm': version 'a/b': 1 to 255 bytes are expected"),
                arguments(model("model: '..'"), "model 'm': model '..': 1 to 255 bytes are expected"),
                arguments(model("aliases: [a%2Fb]"), "model 'm': alias 'a%2Fb': 1 to 255 bytes are expected"),
                arguments(model("").replace("{m:", "{a/m:"), "model name 'a/m': 1 to 255 bytes are expected"),
                arguments(model("versions: {a/b: '1'}"), "versions: label 'a/b': 1 to 255 bytes are expected"),
                arguments(model("shadow: [{upstream: u, model: a/b}]"), "shadow: model 'a/b': 1 to 255 bytes"),
                arguments(split("rules: [{target: b}]"), "rule: 'headers' or 'parameters' is expected"),
                arguments(
                        split("rules: [{headers: {x: 'a*b'}, target: b}]"),
                        "rule: header 'x': a value, or a prefix followed by *, is expected, got 'a*b'"),
                arguments(
                        model("batching: {max_batch_size: 1}"),
                        "batching: max_batch_size: a whole number from 2 to 65536 is expected, got '1'"),
                arguments(
                        model("batching: {max_batch_size: 0}"),
                        "batching: max_batch_size: a whole number from 2 to 65536 is expected, got '0'"),
                arguments(
                        model("batching: {max_queue_delay_microseconds: 5000}, timeout: 5ms"),
                        "batching: max_queue_delay_microseconds: less than the timeout of the model, 5ms, is expected, got"
                                + " '5000'"),
                arguments(
                        model("batching: {max_queue_delay_microseconds: 6000}")
                                .replace("{protocol: grpc,", "{protocol: grpc, timeout: 5ms,"),
                        "batching: max_queue_delay_microseconds: less than the timeout of upstream 't', 5ms, is expected,"
                                + " got '6000'"),
                arguments(
                        model("batching: {max_bytes: 65MiB}"),
                        "batching: max_bytes: at most limits.max_body_size, 67108864 bytes, is expected, got '68157440'"),
                arguments(
                        "{local: {embedded_models: true}, models: {m: {upstream: local, batching: {}}}}",
                        "model 'm': batching: a target other than 'local' is expected"),
                arguments(model("sticky: {}"), "sticky: either 'header' or 'parameter' is expected"),
                arguments(model("sticky: {header: a, parameter: b}"), "sticky: either 'header' or 'parameter'"),
                arguments(
                        model("shadow: [{upstream: u}, {upstream: u, model: n}]"),
                        "shadow: two shadows have the name 'u'"),
                arguments(model("shadow: [{upstream: x}]"), "shadow: upstream: no upstream is named 'x'"),
                arguments(model("ramp: {target: t}"), "ramp: two or more targets are expected, got 1"),
                arguments(split("ramp: {target: c}"), "ramp: target: no target is named 'c'"),
                arguments(
                        split("ramp: {target: b, steps: [5%, 5%]}"), "ramp: step: more than 5% is expected, got '5%'"),
                arguments(split("ramp: {target: b, steps: [0%]}"), "ramp: step: more than 0% is expected, got '0%'"),
                arguments(
                        split("ramp: {target: b, max_difference: 0.1}"),
                        "max_difference: requires a shadow named 'b' with 'compare: true'"),
                arguments(model("fallback: {upstream: x}"), "fallback: upstream: no upstream is named 'x'"),
                arguments(model("fallback: {upstream: t}"), "fallback: an upstream, model or version other than"),
                arguments(
                        model("rates: [{header: x}]"), "rate: 'requests_per_second' or 'bytes_per_second' is expected"),
                arguments(
                        model("rates: [{requests_per_second: 1}, {bytes_per_second: 1MiB}]"),
                        "rate: two rates are for all calls together"),
                arguments(model("aliases: [n]}, n: {upstream: u"), "model 'm': alias: 'n' is a model"),
                arguments(
                        model("aliases: [x]}, n: {upstream: u, aliases: [x]"),
                        "alias: 'x' is already an alias of model 'm'"),
                arguments(model("aliases: ['x*']"), "alias: a name without * is expected, got 'x*'"),
                arguments(
                        model("aliases: [x]").replace("{m:", "{'m*':"),
                        "model 'm*': alias: a pattern cannot have aliases"));
    }

    @ParameterizedTest
    @MethodSource({"servers", "access", "tracing", "models"})
    void contradiction_isReported(String yaml, String problem) {
        assertThat(problems(yaml)).singleElement().asString().contains(problem);
    }

    @Test
    void contradictions_areReported_whereTheyStand_besideMalformedValues() {
        assertThat(problems("""
                        upstreams:
                          t: {protocol: grpc, endpoints: ["a:1"], try_timeout: 2m}
                        models:
                          m:
                            targets:
                              - {name: a, upstream: t, weight: x}
                              - {name: b, upstream: tt}
                            rules:
                              - headers: {X-A: "b*c"}
                                target: d
                            aliases: [x, "y*"]
                            versions: {a: 1, "2": 3, c: a}
                            ramp: {target: b, steps: [10%, 5%]}
                        default_upstream: u
                        """))
                .extracting(problem -> problem.substring(0, problem.indexOf(" ")))
                .containsExactly(
                        "f.yaml:2:56:",
                        "f.yaml:6:40:",
                        "f.yaml:7:29:",
                        "f.yaml:9:24:",
                        "f.yaml:10:17:",
                        "f.yaml:11:18:",
                        "f.yaml:12:22:",
                        "f.yaml:12:33:",
                        "f.yaml:13:36:",
                        "f.yaml:14:19:");
    }

    @ParameterizedTest
    @CsvSource({
        "rw-r--r--,mode 644: others can read it",
        "rw-----w-,mode 602: others can write it",
        "rw-rw----,mode 660: its group can write it",
    })
    void token_thatOthersReach_isReported(String permissions, String problem, @TempDir Path folder) throws IOException {
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString(permissions));
        assertThat(problems("{admin: {token_file: " + token + "}, " + LOCAL + "}"))
                .singleElement()
                .asString()
                .contains("f.yaml:1:22: admin: token_file: " + token + " has " + problem)
                .contains("chmod 600");
    }

    @Test
    void token_ofTheNameAdmin_besideTokenFile_isReported(@TempDir Path folder) throws IOException {
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        String tokens = "tokens: {admin: {file: " + token + ", role: read}}";
        assertThat(problems("{admin: {token_file: " + token + ", " + tokens + "}, " + LOCAL + "}"))
                .singleElement()
                .asString()
                .endsWith("admin: tokens: admin: the name is that of 'token_file'; another one is expected");
    }

    @ParameterizedTest
    @CsvSource({"rw-------", "r--r-----", "rw-r-----"})
    void token_ofOwnerAndGroup_isTaken(String permissions, @TempDir Path folder) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString(permissions));
        assertThat(ConfigLoader.parse("f.yaml", "{admin: {token_file: " + token + "}, " + LOCAL + "}", folder))
                .isNotNull();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            shared: {url: 'http://a', timout: 1s}                                          | shared: url: redis://HOST:PORT
            shared: {url: 'redis://a', timeout: 11s, cluster: 1}                           | shared: timeout: at most 10s
            admin: {prot: 1, oidc: {issuer: 'http://a', client_id: c, roles: {a: read}}}   | issuer: an https URL
            admin: {oidc: {issuer: 'http://a', clientid: c, roles: {a: read}}}             | issuer: an https URL
            admin: {prot: 1, token_file: none}                                             | token_file: ./none cannot be read
            authentication: {api_keys: {file: none}, jwtt: {}}                             | api_keys: file: ./none cannot be read
            payload_log: {url: 'ftp://a', fil: x}                                          | url: an http or https URL
            tracing: {endpoint: 'ftp://a', servce_name: x}                                 | endpoint: a URL as http
            tracing: {endpoint: 'http://a/', header_files: {x-key: src}}                   | tracing: endpoint: with 'header_files' https is expected
            local: {model_repository: none, embeded_models: true}                          | none is not a directory
            """)
    void fault_isToldBesideOthersOfItsSection(String section, String problem) {
        assertThat(problems("{" + section + "}")).hasSizeGreaterThan(1).anyMatch(each -> each.contains(problem));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            models: {m: {upstream: local, fallback: local}}          | an object is expected, got 'local' - did you mean '{upstream: local}'?
            models: {m: {targets: [local]}}                          | an object is expected, got 'local' - did you mean '{upstream: local}'?
            models: {m: {upstream: local, sticky: x-user}}           | an object is expected, got 'x-user' - did you mean '{header: x-user}'?
            models: {m: {upstream: local, batching: {max_queue_delay: 5}}} | did you mean 'max_queue_delay_microseconds'?
            upstream_defaults: {balance: round-robin}                | an object is expected, got 'round-robin' - did you mean '{policy: round_robin}'?
            upstream_defaults: {outliers: {consecutive: 3}}          | did you mean 'consecutive_failures'?
            upstreams: {t: {protocol: GRPC, endpoints: ['a:1']}}     | got 'GRPC' - did you mean 'grpc'?
            listeners: [{acess: open}]                               | did you mean 'access'?
            listeners: [{tls: {certificates: [], client: {}}}]       | did you mean 'client_certificates'?
            limits: {max_body_size: 64MB}                            | got '64MB' - did you mean '64MiB'?
            limits: {max_body_size: 64 kb}                           | got '64 kb' - did you mean '64KiB'?
            """)
    void suggestion_isMade(String section, String problem) {
        assertThat(problems("{" + section + ", " + LOCAL + "}")).anyMatch(each -> each.endsWith(problem));
    }

    @ParameterizedTest
    @ValueSource(strings = {"2GiB", "2GB", "4096MB"})
    void size_thatIsTooLarge_isNotSuggested(String size) {
        assertThat(problems("{limits: {max_body_size: " + size + "}, " + LOCAL + "}"))
                .singleElement()
                .asString()
                .endsWith("of at most 1GiB is expected, got '" + size + "'");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            listeners: [{trusted_proxies: [a]}]                      | trusted_proxy: an IP address
            models: {m: {upstream: local, aliases: ['']}}            | alias: text is expected
            limits: {}, headers: {forward: ['a b']}                  | forward: a header name
            """)
    void item_hasTheNameOfOne(String section, String problem) {
        assertThat(problems("{" + section + ", " + LOCAL + "}")).anyMatch(each -> each.contains(problem));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "fallback: local",
                "shadow: [local]",
                "shadow: [{upstrem: local}]",
                "ramp: {target: other}",
            })
    void followUpsOfAProblem_areNotReported(String key) {
        assertThat(problems("{models: {m: {upstream: local, " + key + "}}, " + LOCAL + "}"))
                .hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"1.1", "xyz", "gpu:0"})
    void nearestName_isNoOtherNumber(String got) {
        assertThat(NearestName.suggestion(got, List.of("1.2", "1.3", "top", "gpu:1")))
                .isEmpty();
    }
}

package dev.isthmus.gateway.settings;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig.Fallback;
import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.Rate;
import dev.isthmus.gateway.settings.ModelConfig.RuleConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Balance;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.transcoder.message.NonFinite;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigLoaderTest {
    private static final Path HERE = Path.of(".");

    private static GatewayConfig parse(String yaml) throws ConfigException {
        return ConfigLoader.parse("f.yaml", yaml, HERE);
    }

    private static List<String> problems(String yaml) {
        ConfigException[] caught = new ConfigException[1];
        assertThatThrownBy(() -> parse(yaml)).isInstanceOfSatisfying(ConfigException.class, e -> caught[0] = e);
        return caught[0].problems();
    }

    /** A layer from a jar may have such a section, and its names an order. */
    @Test
    void names_keepTheOrderOfTheFile() throws ConfigException {
        GatewayConfig config = parse("""
                upstreams: {t: {protocol: grpc, endpoints: ["a:1"]}}
                default_upstream: t
                tracing:
                  endpoint: "https://collector/v1/traces"
                  resource: {zone: a, region: b, app: c, team: d, host: e, rack: f}
                """);
        assertThat(Objects.requireNonNull(config.tracing()).resource().keySet())
                .containsExactly("zone", "region", "app", "team", "host", "rack");
    }

    @Test
    void defaults() throws ConfigException {
        GatewayConfig config = parse("""
                upstreams: {t: {protocol: grpc, endpoints: ["a:1"]}}
                default_upstream: t
                """);
        assertThat(config.listeners()).containsExactly(Listener.DEFAULT.at("127.0.0.1", 8080));
        assertThat(config.connections()).isEqualTo(DefaultValues.of(Connections.class));
        // Together below the 30 s after which Kubernetes kills a pod.
        assertThat(config.drain()).isEqualTo(new Drain(Duration.ofSeconds(5), Duration.ofSeconds(20)));
        assertThat(config.limits().maxBodySize()).isEqualTo(64 << 20);
        assertThat(config.limits().maxManagementSize()).isEqualTo(64 << 10);
        assertThat(config.limits().maxManagementResponseSize()).isEqualTo(8 << 20);
        assertThat(config.limits().maxDecompressionRatio()).isEqualTo(100);
        assertThat(config.limits().maxConcurrentStreams()).isEqualTo(100);
        assertThat(config.limits().maxTensors()).isEqualTo(4096);
        assertThat(config.local()).isNull();
        assertThat(config.upstreams())
                .containsOnlyKeys("t")
                .containsValue(TestConfigs.upstream(UpstreamProtocol.GRPC, new Endpoint("a", 1)));
        assertThat(config.answers()).isEqualTo(DefaultValues.of(ResponseConfig.class));
        assertThat(config.headers()).isEqualTo(GatewayConfig.Headers.DEFAULT);
        assertThat(GatewayConfig.embedded().local())
                .isEqualTo(new LocalConfig(
                        null,
                        true,
                        0,
                        256,
                        ModelControl.NONE,
                        List.of(),
                        "cpu",
                        Duration.ofMinutes(2),
                        Duration.ofSeconds(60),
                        LocalConfig.ProcessKind.SHARED));
    }

    @Test
    void rampState_isBesideTheFile_unlessItIsNamed(@TempDir Path folder) throws Exception {
        String yaml = "{local: {embedded_models: true}, default_upstream: local%s}";
        Path file = Files.writeString(folder.resolve("my.gateway.yaml"), yaml.formatted(""));
        GatewayConfig config = ConfigLoader.load(file);
        assertThat(config.ramps()).isEqualTo(new RampsConfig(null));
        assertThat(config.withStateBeside(file).ramps().stateFile()).isEqualTo(folder.resolve("my.gateway.ramps.json"));
        Files.createDirectory(folder.resolve("state"));
        Files.writeString(file, yaml.formatted(", ramps: {state_file: state/r.json}"));
        assertThat(ConfigLoader.load(file).withStateBeside(file).ramps().stateFile())
                .isEqualTo(folder.resolve("state/r.json"));
    }

    @Test
    void everyKey_isRead() throws ConfigException {
        GatewayConfig config = parse("""
                listeners: [{host: "::1", port: 9}, {port: 0, trusted_proxies: [10.0.0.0/8, "fd00::/8", "::1"], proxy_protocol: true, grpc_web: true,
                  cors: {origins: ["https://a.example"], headers: [X-A], exposed_headers: [x-b], max_age: 0s, credentials: true}}]
                drain: {delay: 0s, timeout: 1m}
                limits: {max_body_size: 2KiB, max_concurrent_streams: 7, max_tensors: 300}
                upstreams:
                  m:
                    protocol: rest
                    endpoints: ["[::1]:8001", "h.example:2"]
                    binary_tensor_data: false
                    timeout: 500ms
                    connect_timeout: 2m
                    dialect: kserve
                    shared_memory: true
                headers: {forward: [X-A, "x-b-*"], return: [y-bin]}
                answers: {non_finite: string, stream_form: oip, compress: false, compress_above: 2KiB, health_body: empty, not_ready_status: 503, errors: generic, cause: true}
                local: {embedded_models: true, threads: 3, queue_size: 4, model_repository: src,
                  model_control: explicit, load: [a, b], device: "gpu:1", load_timeout: 45s, timeout: 7s}
                models: {a: {upstream: m}, b: {upstream: local}}
                default_upstream: m
                """);
        assertThat(config.listeners())
                .containsExactly(
                        Listener.DEFAULT.at("::1", 9),
                        new Listener(
                                "127.0.0.1",
                                0,
                                null,
                                null,
                                ManagementAccess.DENY,
                                Stream.of("10.0.0.0/8", "fd00::/8", "::1")
                                        .map(AddressRange::parse)
                                        .toList(),
                                true,
                                null,
                                true,
                                new CorsConfig(
                                        List.of(Objects.requireNonNull(OriginPattern.parse("https://a.example"))),
                                        List.of("x-a"),
                                        List.of("x-b"),
                                        Duration.ZERO,
                                        true)));
        assertThat(config.drain()).isEqualTo(new Drain(Duration.ZERO, Duration.ofMinutes(1)));
        assertThat(config.limits())
                .isEqualTo(new GatewayConfig.Limits(
                        2048, 64 << 10, 8 << 20, 100, 7, 10_000, 0.5, 300, 5, DefaultValues.of(Http2Abuse.class)));
        assertThat(config.upstreams().get("m"))
                .isEqualTo(TestConfigs.with(
                        TestConfigs.upstream(
                                UpstreamProtocol.REST, new Endpoint("::1", 8001), new Endpoint("h.example", 2)),
                        Map.of(
                                "dialect",
                                ServerDialect.KSERVE,
                                "binaryTensorData",
                                BinaryTensorData.FALSE,
                                "sharedMemory",
                                true,
                                "connectTimeout",
                                Duration.ofMinutes(2),
                                "timeout",
                                Duration.ofMillis(500))));
        assertThat(config.headers().forwarded())
                .isEqualTo(new HeaderAllowList(Set.of("x-a"), List.of("x-b-"), Set.of()));
        assertThat(config.headers().returned()).isEqualTo(new HeaderAllowList(Set.of("y-bin"), List.of(), Set.of()));
        assertThat(config.answers())
                .isEqualTo(new ResponseConfig(
                        NonFinite.STRING,
                        GatewayConfig.StreamMessageForm.OIP,
                        2048,
                        false,
                        GatewayConfig.HealthBody.EMPTY,
                        503,
                        GatewayConfig.ErrorTexts.GENERIC,
                        true));
        assertThat(config.local())
                .isEqualTo(new LocalConfig(
                        HERE.resolve("src"),
                        true,
                        3,
                        4,
                        ModelControl.EXPLICIT,
                        List.of("a", "b"),
                        "gpu:1",
                        Duration.ofSeconds(45),
                        Duration.ofSeconds(7),
                        LocalConfig.ProcessKind.SHARED));
        assertThat(config.models()).containsEntry("a", ModelConfig.of("m")).containsEntry("b", ModelConfig.of("local"));
        assertThat(config.defaultUpstream()).isEqualTo("m");
    }

    @Test
    void allProblems_areReportedAtOnce_inTheFilesOrder() {
        assertThat(problems("""
                        listners: []
                        listeners:
                          - {host: a, port: 70000}
                        limits: {max_body_size: 64Mib}
                        upstreams:
                          triton:
                            protocol: grcp
                            endpoints: [localhost, "a:1"]
                            timeout: soon
                          local: {protocol: rest, endpoints: ["a:1"]}
                          x: {endpoints: []}
                        models:
                          m: {upstream: tritn}
                          n: {}
                        """))
                .containsExactly(
                        "f.yaml:1:1: unknown key 'listners' in the configuration - did you mean 'listeners'?",
                        "f.yaml:3:21: listener: port: a whole number from 0 to 65535 is expected, got '70000'",
                        "f.yaml:4:25: limits: max_body_size: a size such as 64MiB, of at most 1GiB is expected, got"
                                + " '64Mib' - did you mean '64MiB'?",
                        "f.yaml:7:15: upstream 'triton': protocol: one of grpc, rest is expected, got 'grcp' - did you"
                                + " mean 'grpc'?",
                        "f.yaml:8:17: upstream 'triton': endpoint: host:port with a port from 1 to 65535, srv:NAME,"
                                + " or k8s:NAMESPACE/SERVICE:PORT-NAME is expected, got 'localhost'",
                        "f.yaml:9:14: upstream 'triton': timeout: a duration such as 500ms, 1.5s, 1m30s is expected, got"
                                + " 'soon'",
                        "f.yaml:10:10: upstream 'local': the name is reserved for the local backend",
                        "f.yaml:11:6: upstream 'x': 'protocol' is missing",
                        "f.yaml:11:18: upstream 'x': endpoints: at least one entry is expected",
                        "f.yaml:13:17: model 'm': upstream: no upstream is named 'tritn' - did you mean 'triton'?",
                        "f.yaml:14:6: model 'n': 'upstream' or 'targets' is expected");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            ``                                              | f.yaml:1:1: the file is empty
            a: [                                            | f.yaml:1:5: malformed YAML
            a                                               | f.yaml:1:1: the configuration: an object is expected, got 'a'
            local: {embedded_models: maybe}                 | f.yaml:1:26: local: embedded_models: true or false is expected, got 'maybe'
            local: {embedded_models: true, load: [a]}       | local: load: requires 'model_control: explicit', since
            access_log: {headers: [Cookie]}                 | access_log: headers: 'cookie' has credentials, which are never logged
            logging: {level: loud}                          | logging: level: one of error, warn, info, debug is expected, got 'loud'
            logging: {format: xml}                          | logging: format: one of text, json is expected, got 'xml'
            logging: {levels: {flet: debug}}                | logging: levels: one of access, admin, audit, calls, catalogue, clients, fleet, gateway, libraries, local, ramps, shadows, tls is expected, got 'flet'
            logging: {levels: {fleet: loud}}                | one of error, warn, info, debug is expected, got 'loud'
            access_log: {sample: 2}                         | access_log: sample: a share such as 20% or 0.5% is expected, got '2'
            payload_log: {}                                 | payload_log: one of 'url' and 'file' is expected
            payload_log: {file: none/a}                     | payload_log: file: the folder of
            access_log: {file: none/a}                      | access_log: file: the folder of
            ramps: {state_file: none/a}                     | ramps: state_file: the folder of
            access_log: {file: .}                           | access_log: file: a file is expected, got the folder
            payload_log: {file: a, url: "http://a"}         | payload_log: one of 'url' and 'file' is expected
            payload_log: {url: "ftp://a"}                   | payload_log: url: an http or https URL without user and password is expected, got 'ftp://a'
            payload_log: {url: "http://a:b@c"}              | payload_log: url: an http or https URL without user and password is expected
            payload_log: {url: "http://a", ca: a.pem}       | payload_log: ca: an https 'url' is expected with it
            payload_log: {url: "https://a", ca: /none.pem}  | payload_log: ca: /none.pem does not exist
            payload_log: {file: a, source: "a b"}           | payload_log: source: a URI reference is expected, got 'a b'
            payload_log: {file: a, max_queued: 1KiB}        | payload_log: max_size: at most max_queued, 1KiB, is expected, got '1MiB'
            payload_log: {file: a, max_size: 17MiB}         | payload_log: max_size: with form json at most 16MiB is expected, as JSON takes several times the memory, got '17MiB'
            payload_log: {file: a, events: all}             | payload_log: events: one of both, request, response is expected, got 'all'
            local: {embedded_models: true, device: cuda}    | local: device: cpu, gpu:N or auto is expected, got 'cuda'
            local: {}                                       | 'model_repository' or 'embedded_models: true' is expected
            local: {model_repository: /none}                | /none is not a directory
            models: {m: {upstream: local}}                  | no upstream is named 'local'; it needs a section 'local'
            default_upstream: [a]                           | default_upstream: text is expected, got a list
            listeners: {port: 1}                            | listeners: a list is expected, got an object
            listeners: [{trusted_proxies: [10.0.0.1/8]}]    | an IP address, or a range such as 10.0.0.0/8 or fd00::/8 with zeros after the prefix is expected, got '10.0.0.1/8'
            listeners: [{host: "${NO_HOST:-a b}"}]          | listener: host: a host name or IP address is expected, got '${NO_HOST:-a b}'
            admin: {host: "${NO_HOST}"}                     | ${NO_HOST}: the environment variable NO_HOST is not set
            upstreams: {t: {protocol: grpc, endpoints: ['$${HOST}:1']}} | host:port with a port from 1 to 65535
            upstreams: {t: {<<: 1}}                         | <<: an object or a list of objects is expected, got '1'
            listeners: [{port: 1}, {port: 1}]               | listener: 127.0.0.1:1 is given twice
            models: {m: {upstream: a}, m: {upstream: a}}    | key 'm' is given twice in models
            """)
    void problem_isReported(String yaml, String problem) {
        assertThat(String.join("\n", problems(yaml))).contains(problem);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            0s    | got '0s', which is zero: more than zero is expected here
            8d    | got '8d', which is more than 7d
            1.5ms | got '1.5ms', which is not a whole number of milliseconds
            -1s   | got '-1s', which is negative
            5     | got '5', which has no unit: ms, s, m, h or d
            10us  | got '10us', whose unit is not one of ms, s, m, h, d
            soon  | got 'soon'
            """)
    void duration_thatIsNone_isExplained(String text, String problem) {
        assertThat(problems(ConfigSamples.upstream("timeout: " + text)))
                .singleElement()
                .asString()
                .endsWith("timeout: a duration such as 500ms, 1.5s, 1m30s is expected, " + problem);
    }

    /** Unreadable values are replaced by defaults; problems that follow from these are not reported. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "listeners: [{port: x}, {port: y}]",
                "{listeners: [{port: 0}, {port: 8080}], admin: {port: x}}",
                "admin: {host: 0.0.0.0, token_file: [a]}",
                "local: {model_repository: [a]}",
                "local: {embedded_models: true, load: [a], model_control: 1}",
                "upstreams: {t: {protocol: grpc, endpoints: ['a:1'], timeout: 1, try_timeout: 70s}}",
                "upstreams: {t: {protocol: grpc, endpoints: ['a:1'], timout: 1s, try_timeout: 70s}}",
                "{upstreams: 5, models: {m: {upstream: t}}, default_upstream: u}",
                "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, models: {m: {upstream: [t]}}}",
                "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, default_upstream: [t]}",
                "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, models: {m: {upstraem: t}}}",
                "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, models: {m: {targets: 5, rules: [{target: a,"
                        + " headers: {x: y}}]}}}",
                "{modles: {}, upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}}"
            })
    void problem_thatFollowsFromAnother_isNotReported(String yaml) {
        int wrong = yaml.contains("port: y") ? 2 : 1;
        assertThat(problems(yaml)).hasSize(wrong);
    }

    @Test
    void anchors_inACircle_areNoTrap() {
        assertThat(problems("upstreams: &u {t: *u}")).isNotEmpty();
    }

    @Test
    void documents_moreThanOne_areRefusedWhereTheSecondBegins() {
        assertThat(problems("local: {embedded_models: true}\n---\nlocal: {}\n"))
                .containsExactly("f.yaml:2:1: another YAML document begins here; a single document is expected");
    }

    private static Stream<Arguments> unreadable() {
        byte[] large = new byte[10 << 20];
        Arrays.fill(large, (byte) '#');
        return Stream.of(
                arguments(
                        "a: 1\n# caf\u00e9".getBytes(StandardCharsets.ISO_8859_1),
                        ":2:6: the byte 0xE9 is not UTF-8; save the file as UTF-8"),
                arguments(
                        new byte[] {'a', '\n', 0x7f, 'E', 'L', 'F', 0},
                        ":2:1: the character U+007F is not allowed in YAML"),
                arguments(new byte[] {'a', ':', ' ', 0}, ":1:4: the character U+0000 is not allowed in YAML"),
                arguments(large, ": the file is larger than the limit of 3MiB"));
    }

    @ParameterizedTest
    @MethodSource("unreadable")
    void file_thatIsNoText_isRefusedInWords(byte[] content, String problem, @TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("f.yaml"), content);
        assertThatThrownBy(() -> ConfigLoader.load(file))
                .isInstanceOfSatisfying(
                        ConfigException.class, e -> assertThat(e.problems()).containsExactly(file + problem));
    }

    @Test
    void file_withAByteOrderMark_isRead(@TempDir Path folder) throws IOException, ConfigException {
        Path file = folder.resolve("f.yaml");
        Files.writeString(file, "\uFEFF{local: {embedded_models: true}, default_upstream: local}");
        assertThat(ConfigLoader.load(file).defaultUpstream()).isEqualTo("local");
    }

    @Test
    void file_thatIsAFolderOrMissing_isReportedInWords(@TempDir Path folder) {
        Path missing = folder.resolve("none.yaml");
        assertThatThrownBy(() -> ConfigLoader.load(folder))
                .hasMessage(folder + ": a file *.yaml is expected in the folder, got none");
        assertThatThrownBy(() -> ConfigLoader.load(missing)).hasMessage(missing + ": cannot be read: no such file");
    }

    @Test
    void models_areReadInFull() throws ConfigException {
        GatewayConfig config = parse(ConfigSamples.FULL_MODEL);
        ModelConfig model = config.models().get("resnet");
        assertThat(model)
                .isEqualTo(new ModelConfig(
                        null,
                        null,
                        null,
                        List.of(
                                new TargetConfig("stable", "t", "resnet50", "3", 90),
                                new TargetConfig("canary", "m", null, "4", 10)),
                        List.of("resnet-prod"),
                        Map.of("stable", "3", "canary", "4"),
                        "stable",
                        ModelConfig.ExplicitVersion.OVERRIDE,
                        List.of(new RuleConfig(Map.of("x-canary", "yes"), Map.of("tier", "gold*"), "canary")),
                        new ModelConfig.RequestKey("x-user", null),
                        List.of(new ShadowConfig(
                                "canary", "t", "next", null, 0.1, true, 0.01, 0.003, Duration.ofSeconds(2), 8)),
                        new RampConfig("canary", List.of(0.01, 0.5, 1.0), Duration.ofMinutes(10), 50, 0.02, 2.5, 0.001),
                        new Fallback("local", "digits", null),
                        List.of(new Rate("x-api-key", false, 100, 10 << 20, Duration.ofSeconds(2))),
                        Duration.ofSeconds(10),
                        ModelConfig.ReadyPolicy.QUORUM,
                        RequestValidation.STRICT,
                        new ObjectivesConfig(0.999, 0.95, Duration.ofMillis(250)),
                        new BatchingConfig(16, 500, 2 << 20),
                        new CacheConfig(
                                Duration.ofSeconds(30),
                                32 << 20,
                                2 << 20,
                                4 << 20,
                                List.of("tier"),
                                List.of("x-tenant"),
                                false,
                                false),
                        false));
    }

    @Test
    void mergeKey_givesWhatAnObjectDoesNotSayItself() throws ConfigException {
        GatewayConfig config = parse("""
                upstreams:
                  a: &a {protocol: rest, endpoints: ["h:1"], timeout: 7s, retry: {retries: 3}}
                  b: &b {<<: *a, timeout: 8s}
                  c: {<<: [{max_requests: 9, timeout: 1s}, *b], endpoints: ["i:2"]}
                default_upstream: a
                """);
        UpstreamConfig a = requireNonNull(config.upstreams().get("a"));
        assertThat(config.upstreams().get("b"))
                .isEqualTo(TestConfigs.with(a, Map.of("timeout", Duration.ofSeconds(8))));
        UpstreamConfig c = requireNonNull(config.upstreams().get("c"));
        assertThat(c.maxRequests()).isEqualTo(9);
        assertThat(c.timeout()).isEqualTo(Duration.ofSeconds(1));
        assertThat(c.retry().retries()).isEqualTo(3);
        assertThat(c.endpoints()).hasToString("[i:2]");
    }

    @Test
    void upstreams_areReadInFull() throws ConfigException {
        UpstreamConfig upstream = parse(ConfigSamples.FULL_UPSTREAM).upstreams().get("t");
        assertThat(upstream)
                .isEqualTo(new UpstreamConfig(
                        UpstreamProtocol.GRPC,
                        List.of(
                                new ServerAddress.HostAddress(new Endpoint("10.0.0.1", 8001)),
                                new ServerAddress.SrvAddress("_grpc._tcp.triton.svc"),
                                new ServerAddress.KubernetesService("ml", "triton", "grpc"),
                                new ServerAddress.KubernetesService("ml", "spot", null)),
                        "triton.example:8443",
                        null,
                        Duration.ofSeconds(5),
                        BinaryTensorData.AUTO,
                        ServerDialect.TRITON,
                        false,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(60),
                        Duration.ofSeconds(2),
                        50,
                        true,
                        Map.of("x-key", new SecretText("k")),
                        null,
                        new AdaptiveConcurrency(2, 60, 0.5, Duration.ofMinutes(1)),
                        new Hedging(0.9, 0.1, Duration.ofMillis(2)),
                        new QueueConfig(
                                30,
                                20,
                                Duration.ofMillis(500),
                                0.05,
                                Map.of("alice", 4),
                                Map.of("batch", 2),
                                Map.of("bert", 3),
                                5),
                        new Balance(BalancePolicy.QUEUE_AWARE, Duration.ofSeconds(30), 8003),
                        new Checks(Duration.ofSeconds(2), Duration.ofSeconds(3), 4, 5),
                        new Outliers(
                                7,
                                Duration.ofSeconds(9),
                                0.25,
                                0.1,
                                new ErrorRate(Duration.ofSeconds(20), 0.6, 2.5, 99, 3)),
                        new Retry(2, Set.of(RetryOn.LOST, RetryOn.TIMEOUT), 0.005, 1 << 20),
                        new Breaker(1, 10, 5, Duration.ofMinutes(1)),
                        new UpstreamConfig.UpstreamHttp2Abuse(1, 2, 3, 4)));
    }

    @Test
    void connections_areReadInFull() throws ConfigException {
        GatewayConfig config = parse("""
                connections:
                  max_connections: 1
                  max_connections_per_address: 2
                  request_headers_timeout: 3s
                  request_body_timeout: 4s
                  min_request_body_rate: 5
                  stream_idle_timeout: 6s
                  write_timeout: 7s
                  idle_timeout: 8s
                  tcp_keepalive: 9s
                  http2_keepalive_interval: 10s
                  http2_keepalive_timeout: 0s
                local: {embedded_models: true}
                default_upstream: local
                """);
        assertThat(config.connections())
                .isEqualTo(new Connections(
                        1,
                        2,
                        Duration.ofSeconds(3),
                        Duration.ofSeconds(4),
                        5,
                        Duration.ofSeconds(6),
                        Duration.ofSeconds(7),
                        Duration.ofSeconds(8),
                        Duration.ofSeconds(9),
                        Duration.ofSeconds(10),
                        Duration.ZERO));
    }

    @Test
    void connections_areLimitedByDefault() {
        assertThat(GatewayConfig.DEFAULT.connections())
                .isEqualTo(new Connections(
                        10_000,
                        0,
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(30),
                        240,
                        Duration.ofMinutes(5),
                        Duration.ofSeconds(30),
                        Duration.ofHours(1),
                        Duration.ofMinutes(1),
                        Duration.ofMinutes(1),
                        Duration.ofSeconds(20)));
    }

    @Test
    void http2Abuse_isReadInFull() throws ConfigException {
        GatewayConfig config = parse("""
                limits:
                  http2_abuse:
                    stream_reset_burst: 1
                    stream_reset_rate: 2
                    stream_error_burst: 3
                    stream_error_rate: 4
                    control_frame_burst: 5
                    control_frame_rate: 6
                    control_frames_per_data: 7
                    max_queued_frames: 0
                local: {embedded_models: true}
                default_upstream: local
                """);
        assertThat(config.limits().http2Abuse()).isEqualTo(new Http2Abuse(1, 2, 3, 4, 5, 6, 7, 0));
    }

    @Test
    void http2Abuse_isGenerousByDefault() {
        assertThat(DefaultValues.of(GatewayConfig.Limits.class).http2Abuse())
                .isEqualTo(new Http2Abuse(5000, 100, 1000, 33, 10_000, 1000, 10, 10_000));
        assertThat(UpstreamConfig.DEFAULT.http2Abuse())
                .isEqualTo(new UpstreamConfig.UpstreamHttp2Abuse(100_000, 10_000, 100, 100_000));
    }

    @Test
    void sections_withoutContent_haveTheirDefaults() throws ConfigException {
        GatewayConfig config = parse("{admin: , limits: , local: {embedded_models: true}, default_upstream: local}");
        assertThat(config.admin()).isEqualTo(AdminConfig.DEFAULT);
        assertThat(config.limits()).isEqualTo(DefaultValues.of(GatewayConfig.Limits.class));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "access_log: {file: \"a\\0\"}",
                "upstreams: {u: {protocol: rest, endpoints: [a:1], tls: {ca: \"a\\0\"}}}",
                "layers: {folder: \"a\\0\"}"
            })
    void textThatIsNoPath_isTold(String yaml) {
        assertThat(problems(yaml)).anyMatch(problem -> problem.endsWith(": a path is expected, got 'a\0'"));
    }

    @Test
    void characterThatYamlCannotEscape_isMalformed() {
        assertThat(problems("a: \"\\UFFFFFFFF\"")).singleElement().asString().startsWith("f.yaml: malformed YAML");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "payload_log: {url: 'ftp://me:secret@host/'}",
                "upstreams: {u: {protocol: rest, endpoints: ['https://me:secret@host']}}",
                "admin: {dashboards: 'https://me:secret@host/a'}",
                "shared: {url: 'redis://me:secret@host'}"
            })
    void passwordInAUrl_isNotShown(String yaml) {
        assertThat(problems(yaml))
                .anyMatch(problem -> problem.contains("//...@host"))
                .noneMatch(problem -> problem.contains("secret"));
    }

    @Test
    void paths_areRelativeToTheFile(@TempDir Path folder) throws IOException, ConfigException {
        Files.createDirectory(folder.resolve("models"));
        Files.setPosixFilePermissions(
                Files.writeString(folder.resolve("token"), "t"), PosixFilePermissions.fromString("rw-------"));
        Path file = Files.writeString(folder.resolve("f.yaml"), """
                admin: {host: 0.0.0.0, token_file: token}
                local: {model_repository: models}
                default_upstream: local
                """);
        GatewayConfig config = ConfigLoader.load(file);
        assertThat(config.local())
                .isEqualTo(DefaultValues.with(LocalConfig.DEFAULT, "modelRepository", folder.resolve("models")));
        assertThat(config.admin())
                .isEqualTo(DefaultValues.with(
                        AdminConfig.DEFAULT, "host", "0.0.0.0", "port", 9901, "tokenFile", folder.resolve("token")));
    }

    @ParameterizedTest
    @FieldSource("dev.isthmus.gateway.settings.ConfigSamples#GOOD")
    void sample_isGood(String yaml) throws ConfigException {
        assertThat(parse(yaml)).isNotNull();
    }

    @ParameterizedTest
    @MethodSource("dev.isthmus.gateway.settings.ConfigSamples#malformed")
    void malformedValue_isReported(String yaml, String problem) {
        assertThat(problems(yaml)).anySatisfy(each -> assertThat(each).contains(problem));
    }

    @Test
    void characterThatYamlForbids_isReported() {
        assertThat(problems("a: \u0007"))
                .singleElement()
                .asString()
                .isEqualTo("f.yaml:1:4: the character U+0007 is not allowed in YAML");
    }

    /** Each used to be compared with all others. */
    @Test
    void manyProblems_areCounted() {
        String upstreams = IntStream.range(0, 3_000)
                .mapToObj(i -> "  server-" + i + ": {protocol: grpc, endpoints: ['127.0.0.1:1']}\n")
                .collect(Collectors.joining());
        String models = IntStream.range(0, 3_000)
                .mapToObj(i -> "  'a b " + i + "': {upstream: servers-" + i + "}\n")
                .collect(Collectors.joining());
        List<String> problems = problems("upstreams:\n" + upstreams + "models:\n" + models);
        assertThat(problems).hasSize(1_001);
        assertThat(problems.getFirst()).contains("- did you mean 'server-");
        assertThat(problems.getLast()).isEqualTo("2000 more problems");
    }

    @Test
    void file_missing_isReported() {
        assertThatThrownBy(() -> ConfigLoader.load(Path.of("none.yaml")))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("none.yaml: cannot be read");
    }
}

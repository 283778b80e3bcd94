package dev.isthmus.gateway.fleet.kserve;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.fleet.kserve.InferenceService.ServingRuntime;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.CalledPods;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.KnownServers;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.SeenNamespace;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceModels.ServiceProblem;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.Rate;
import dev.isthmus.gateway.settings.ModelConfig.RequestKey;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import dev.isthmus.gateway.settings.UpstreamConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** From the JSON of a resource to upstreams and models. */
class InferenceServiceModelsTest {
    private static final String DISCOVER = "discover: {kserve: [{namespace: ml}]}";
    private static final String READY = "'conditions': [{'type': 'PredictorReady', 'status': 'True'},"
            + " {'type': 'Ready', 'status': 'True'}], 'deploymentMode': 'Standard'";
    private static final String V2 = "'model': {'protocolVersion': 'v2'}";
    private static final String ON_RUNTIME = "'model': {'modelFormat': {'name': 'onnx'}, 'runtime': 'r'%s}";

    private static InferenceService service(String name, String predictor, String status) throws Exception {
        return InferenceService.of(
                new JsonMapper().readTree("""
                        {'metadata': {'name': '%s'}, 'spec': {'predictor': {%s}}, 'status': {%s}}
                        """.formatted(name, predictor, status).replace('\'', '"')));
    }

    private static InferenceServiceModels models(String yaml, InferenceService... services) throws Exception {
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", yaml, Path.of("."));
        SeenNamespace seen = new SeenNamespace(List.of(services), Map.of(), false, KnownServers.NONE);
        InferenceServiceModels models = new InferenceServiceModels(config, Map.of());
        config.discover().kserve().forEach(each -> models.add(each, seen));
        return models;
    }

    /** With one runtime. */
    private static Map<String, ServingRuntime> runtime(String spec) throws Exception {
        String json = "{'metadata': {'name': 'r'}, 'spec': {" + spec + "}}";
        return Map.of("r", ServingRuntime.of(new JsonMapper().readTree(json.replace('\'', '"'))));
    }

    private static UpstreamConfig upstream(GatewayConfig config, String name) {
        return requireNonNull(
                config.upstreams().get(name),
                () -> name + " is none of " + config.upstreams().keySet());
    }

    private static List<String> endpoints(GatewayConfig config, String upstream) {
        return upstream(config, upstream).endpoints().stream()
                .map(Object::toString)
                .toList();
    }

    private static String revisions(String... targets) {
        return "'components': {'predictor': {'latestReadyRevision': 'iris-predictor-00002', 'traffic': ["
                + String.join(", ", targets) + "]}}, 'deploymentMode': 'Serverless',"
                + " 'conditions': [{'type': 'Ready', 'status': 'True'}]";
    }

    private static String target(String revision, int percent) {
        return "{'revisionName': '" + revision + "', 'percent': " + percent + "}";
    }

    @Test
    void deployment_isOneUpstream() throws Exception {
        GatewayConfig config = models(DISCOVER, service("iris", V2, READY)).config();
        assertThat(config.models()).containsOnlyKeys("iris").containsValue(ModelConfig.of("ml/iris-predictor"));
        assertThat(config.upstreams()).containsOnlyKeys("ml/iris-predictor");
        assertThat(upstream(config, "ml/iris-predictor").protocol()).isEqualTo(UpstreamProtocol.REST);
        assertThat(endpoints(config, "ml/iris-predictor")).containsExactly("k8s:ml/iris-predictor");
    }

    @Test
    void settingsFromReferences_areNotShown() throws Exception {
        String discover = "discover: {kserve: [{namespace: ml, upstream: {timeout: '${NO_VARIABLE:-1234s}'}}]}";
        GatewayConfig config = models(discover, service("iris", V2, READY)).config();
        assertThat(upstream(config, "ml/iris-predictor").timeout()).isEqualTo(Duration.ofSeconds(1234));
        assertThat(requireNonNull(config.document().get("upstreams")).toString())
                .contains("timeout=${NO_VARIABLE:-1234s}")
                .doesNotContain("20m34s");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'model': {'protocolVersion': 'v2'}|REST",
                "'model': {'protocolVersion': 'grpc-v2'}|GRPC",
                "'model': {'modelFormat': {'name': 'triton'}}|REST",
                "'model': {'modelFormat': {'name': 'onnx'}, 'runtime': 'kserve-mlserver'}|REST",
                "'model': {'runtime': 'kserve-mlserver', 'protocolVersion': 'grpc-v2'}|GRPC",
                "'containers': [{'name': 'x'}, {'name': 'kserve-container', 'env': [{'name': 'PROTOCOL', 'value': 'v2'}]}]|REST",
                "'containers': [{'env': [{'name': 'PROTOCOL', 'value': 'grpc-v2'}]}]|GRPC",
            })
    void protocol_isThatOfTheResource(String predictor, UpstreamProtocol protocol) throws Exception {
        GatewayConfig config =
                models(DISCOVER, service("iris", predictor, READY)).config();
        assertThat(upstream(config, "ml/iris-predictor").protocol()).isEqualTo(protocol);
    }

    @Test
    void runtime_isChosenByKServe() throws Exception {
        InferenceService service = service(
                "iris",
                "'model': {'modelFormat': {'name': 'sklearn'}}",
                READY + ", 'clusterServingRuntimeName': 'kserve-mlserver'");
        assertThat(models(DISCOVER, service).config().models()).containsOnlyKeys("iris");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                // OpenVINO Model Server, MLServer, a server of KServe's, Triton.
                "'v1', 'v2', 'grpc-v2'| | |REST| ",
                "'v2'| | |REST| ",
                "'v2', 'v1'| | |REST| ",
                "'grpc-v2'| | |GRPC| ",
                // The first port is that of KServe's Service.
                "'v2', 'grpc-v2'|{'name': 'h2c'}| |GRPC| ",
                "'v2', 'grpc-v2'|{'name': 'grpc-port'}, {'name': 'http1'}| |GRPC|grpc-port",
                "'v2', 'grpc-v2'|{'name': 'http1'}, {'name': 'h2c'}| |REST|http1",
                "'v2'|{'name': 'h2c'}, {'name': 'http1'}| |REST|http1",
                // The resource over its runtime.
                "'v2', 'grpc-v2'|{'name': 'http1'}, {'name': 'h2c'}|, 'protocolVersion': 'grpc-v2'|GRPC|h2c",
                "'v2', 'grpc-v2'|{'name': 'http1'}|, 'ports': [{'name': 'h2c'}, {'name': 'metrics'}]|GRPC|h2c",
                "'grpc-v1', 'grpc-v2'| |, 'protocolVersion': 'v2'|REST| ",
            })
    void protocolAndPort_areThoseOfTheRuntime(
            String protocols,
            @Nullable String ports,
            @Nullable String model,
            UpstreamProtocol protocol,
            @Nullable String port)
            throws Exception {
        var runtime = runtime("'protocolVersions': [" + protocols + "], 'containers': [{'name': 'other'},"
                + " {'name': 'kserve-container', 'ports': [" + Objects.requireNonNullElse(ports, "") + "]}]");
        String predictor = ON_RUNTIME.formatted(Objects.requireNonNullElse(model, ""));
        GatewayConfig config = onRuntime(predictor, runtime, true, Map.of()).config();
        assertThat(upstream(config, "ml/iris-predictor").protocol()).isEqualTo(protocol);
        assertThat(endpoints(config, "ml/iris-predictor"))
                .containsExactly("k8s:ml/iris-predictor" + (port == null ? "" : ":" + port));
    }

    @Test
    void torchServe_speaksOneProtocol() throws Exception {
        ServingRuntime runtime = ServingRuntime.of(new JsonMapper().readTree("""
                {"metadata": {"name": "r", "annotations": {"serving.kserve.io/server-type": "torchserve"}},
                 "spec": {"protocolVersions": ["v1", "v2", "grpc-v2"], "containers": [{"name": "kserve-container"}]}}
                """));
        assertThat(runtime.protocols()).containsExactly("v1");
    }

    @Test
    void otherProtocolsOfTheRuntime_areNoModel() throws Exception {
        var runtime = runtime("'protocolVersions': ['v1', 'grpc-v1']");
        assertThat(onRuntime(ON_RUNTIME.formatted(""), runtime, true, Map.of()).problems())
                .containsExactly(new ServiceProblem(
                        "ml/iris",
                        "InferenceService 'ml/iris' is no model: protocol v2 or grpc-v2 is expected, got 'v1, grpc-v1'",
                        false));
    }

    private static InferenceServiceModels onRuntime(
            String predictor, Map<String, ServingRuntime> runtimes, boolean complete, Map<String, CalledPods> before)
            throws Exception {
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", DISCOVER, Path.of("."));
        InferenceServiceModels models = new InferenceServiceModels(config, Map.of());
        List<InferenceService> services = List.of(service("iris", predictor, READY));
        models.add(
                config.discover().kserve().getFirst(),
                new SeenNamespace(services, runtimes, complete, new KnownServers(before, Map.of())));
        return models;
    }

    @Test
    void missingRuntime_isAProblem_andServersStay() throws Exception {
        String missing = "its runtime 'r' is neither a ServingRuntime of the namespace nor a ClusterServingRuntime";
        InferenceServiceModels never = onRuntime(ON_RUNTIME.formatted(""), Map.of(), true, Map.of());
        assertThat(never.config().models()).isEmpty();
        assertThat(never.problems())
                .containsExactly(
                        new ServiceProblem("ml/iris", "InferenceService 'ml/iris' is no model: " + missing, true));

        CalledPods pods = new CalledPods(
                "iris-predictor", new KubernetesService("ml", "iris-predictor", "h2c"), UpstreamProtocol.GRPC, 100);
        var before = Map.of("iris-predictor", pods);
        InferenceServiceModels served = onRuntime(ON_RUNTIME.formatted(""), Map.of(), true, before);
        assertThat(served.config().models()).containsOnlyKeys("iris");
        assertThat(endpoints(served.config(), "ml/iris-predictor")).containsExactly("k8s:ml/iris-predictor:h2c");
        ServiceProblem asBefore = new ServiceProblem(
                "ml/iris", "InferenceService 'ml/iris' is served as it was deployed: " + missing, true);
        assertThat(served.problems()).containsExactly(asBefore);

        InferenceServiceModels decided =
                onRuntime(ON_RUNTIME.formatted(", 'protocolVersion': 'v2'"), Map.of(), true, before);
        assertThat(upstream(decided.config(), "ml/iris-predictor").protocol()).isEqualTo(UpstreamProtocol.REST);
        assertThat(decided.problems()).containsExactly(asBefore);
    }

    @Test
    void runtimesThatCannotBeListed_areAProblem_ifTheyAreNeeded() throws Exception {
        assertThat(onRuntime(ON_RUNTIME.formatted(""), Map.of(), false, Map.of())
                        .problems())
                .containsExactly(new ServiceProblem(
                        "ml/iris",
                        "InferenceService 'ml/iris' is no model: its runtime 'r' is not known, since not all"
                                + " ServingRuntimes and ClusterServingRuntimes can be listed",
                        true));
        assertThat(onRuntime(ON_RUNTIME.formatted(", 'protocolVersion': 'v2'"), Map.of(), false, Map.of())
                        .problems())
                .isEmpty();
        assertThat(onRuntime(ON_RUNTIME.formatted(", 'protocolVersion': 'v1'"), Map.of(), false, Map.of())
                        .problems())
                .extracting(ServiceProblem::unexpected)
                .containsExactly(false);
    }

    /** With these models on the servers of upstreams, now and before. */
    private static InferenceServiceModels listing(
            String yaml, Map<String, Set<String>> now, Map<String, Set<String>> before, InferenceService... services)
            throws Exception {
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", yaml, Path.of("."));
        InferenceServiceModels models = new InferenceServiceModels(config, now);
        SeenNamespace seen = new SeenNamespace(List.of(services), Map.of(), false, new KnownServers(Map.of(), before));
        config.discover().kserve().forEach(each -> models.add(each, seen));
        return models;
    }

    @Test
    void serviceOfSeveralModels_becomesThem() throws Exception {
        var listed = Map.of("ml/vision-predictor", Set.of("cats", "dogs"), "ml/iris-predictor", Set.of("iris"));
        GatewayConfig config = listing(
                        DISCOVER, listed, Map.of(), service("vision", V2, READY), service("iris", V2, READY))
                .config();
        assertThat(config.models())
                .containsOnlyKeys("cats", "dogs", "iris")
                .containsEntry("cats", ModelConfig.of("ml/vision-predictor"))
                .containsEntry("iris", ModelConfig.of("ml/iris-predictor"));
        assertThat(config.upstreams()).containsOnlyKeys("ml/vision-predictor", "ml/iris-predictor");
    }

    @Test
    void severalModels_areSplitAsTheirService() throws Exception {
        List<String> canaries = List.of(canary("v2", 20, ""));
        var listed = Map.of("ml/iris-predictor", Set.of("iris", "cats"), "ml/iris-v2-predictor", Set.of("new"));
        GatewayConfig config = listing(DISCOVER, listed, Map.of(), withCanaries("", canaries, ready("v2")))
                .config();
        // What only the canary has is found there by its index.
        assertThat(config.models()).containsOnlyKeys("iris", "cats");
        assertThat(requireNonNull(config.models().get("cats")).allTargets())
                .containsExactly(share("iris-predictor", 80), share("iris-v2-predictor", 20));
    }

    @Test
    void listedModels_stayWhileNoServerResponds() throws Exception {
        Map<String, Set<String>> before = Map.of("ml/vision-predictor", Set.of("cats"));
        InferenceService service = service("vision", V2, READY);
        for (Map<String, Set<String>> now :
                List.of(Map.<String, Set<String>>of(), Map.of("ml/vision-predictor", Set.<String>of()))) {
            assertThat(listing(DISCOVER, now, before, service).config().models())
                    .containsOnlyKeys("cats");
        }
        assertThat(listing(DISCOVER, Map.of("ml/vision-predictor", Set.of("dogs")), before, service)
                        .config()
                        .models())
                .containsOnlyKeys("dogs");
    }

    @Test
    void listedName_takesNoOthersName() throws Exception {
        String yaml = """
                upstreams: {t: {protocol: grpc, endpoints: ["t:1"]}}
                models: {own: {upstream: t, aliases: [also]}}
                """ + DISCOVER;
        Set<String> names = Set.of("own", "also", "iris", "*", "a/b", "..", "cats");
        GatewayConfig config = listing(
                        yaml,
                        Map.of("ml/a-predictor", names),
                        Map.of(),
                        service("a", V2, READY),
                        service("iris", V2, READY))
                .config();
        assertThat(config.models())
                .containsOnlyKeys("own", "iris", "cats")
                .containsEntry("iris", ModelConfig.of("ml/iris-predictor"));
    }

    @Test
    void ofManyModels_someAreConfigured() throws Exception {
        Set<String> names = IntStream.range(0, 250).mapToObj(i -> "m" + i).collect(Collectors.toSet());
        assertThat(listing(DISCOVER, Map.of("ml/iris-predictor", names), Map.of(), service("iris", V2, READY))
                        .config()
                        .models())
                .hasSize(200);
    }

    private static InferenceService annotated(String name, Map<String, String> annotations) throws Exception {
        ObjectNode resource = (ObjectNode) new JsonMapper().readTree("""
                {"metadata": {"annotations": {"other.dev/alias": "x"}},
                 "spec": {"predictor": {"model": {"protocolVersion": "v2"}}},
                 "status": {"conditions": [{"type": "Ready", "status": "True"}], "deploymentMode": "Standard"}}
                """);
        ObjectNode metadata = (ObjectNode) resource.get("metadata");
        metadata.put("name", name);
        annotations.forEach(
                (key, value) -> ((ObjectNode) metadata.get("annotations")).put("isthmus.dev/" + key, value));
        return InferenceService.of(resource);
    }

    private static ModelConfig model(InferenceServiceModels models, String name) {
        return requireNonNull(models.config().models().get(name));
    }

    private static final String ALLOWED =
            "discover: {kserve: [{namespace: ml, annotations: [alias, sticky, rates, cache]}]}";

    @Test
    void annotations_areSettingsOfTheModel() throws Exception {
        InferenceServiceModels models = models(
                ALLOWED,
                annotated(
                        "iris",
                        Map.of(
                                "alias", "flowers",
                                "sticky", "{header: x-user}",
                                "rates", "{requests_per_second: 5}",
                                "cache", "{ttl: 5m, max_bytes: 1MiB}")));
        ModelConfig model = model(models, "iris");
        assertThat(models.problems()).isEmpty();
        assertThat(model.upstream()).isEqualTo("ml/iris-predictor");
        assertThat(model.aliases()).containsExactly("flowers");
        assertThat(model.sticky()).isEqualTo(new RequestKey("x-user", null));
        assertThat(model.rates()).extracting(Rate::requestsPerSecond).containsExactly(5);
        assertThat(requireNonNull(model.cache()).ttl()).isEqualTo(Duration.ofMinutes(5));
        assertThat(model(models(ALLOWED, annotated("iris", Map.of("alias", "[a, b]"))), "iris")
                        .aliases())
                .containsExactly("a", "b");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "sticky|{}|either 'header' or 'parameter' is expected",
                "sticky|{header: a, colour: b}|unknown key 'colour'",
                "sticky|{header: x-who}|header 'x-who' is set by the gateway",
                "rates|{requests_per_second: -1}|got '-1'",
                "rates|[5]|5",
                "cache|{ttl: soon}|got 'soon'",
                "cache|{ttl: 5m|malformed YAML",
                "cache|{~: 5m}|keys, and values that fit their tags, are expected",
                "rates|[{? : 1}]|keys, and values that fit their tags, are expected",
                "cache|!!float x|keys, and values that fit their tags, are expected",
                "cache|!!binary '%'|keys, and values that fit their tags, are expected",
                "cache|!!map x|keys, and values that fit their tags, are expected",
                "cache|&a [*a]|cache",
                "cache|&a [*a]|a value without anchors is expected",
                "rates|[&a [1, 1], &b [*a, *a], *b]|a value without anchors is expected",
                "alias|[&a x, *a]|a value without anchors is expected",
                "cache|{ttl: '${HOME}'}|a value without references is expected",
                "cache|{ttl: \"\\x24{HOME}\"}|a value without references is expected",
                "alias|''|alias",
                "sticky|''|sticky",
                "alias|a/b|alias 'a/b': 1 to 255 bytes are expected",
                "alias|a*|a name without * is expected",
                "alias|iris|is a model",
                "model|other|'annotations' of discover.kserve allows [alias, sticky, rates, cache]",
            })
    void annotationThatDoesNotCount_isAProblem_andNothingElse(String annotation, String value, String reason)
            throws Exception {
        String yaml = ALLOWED + "\nauthentication: {client_certificates: {}, forward: {principal_header: x-who}}";
        InferenceServiceModels models = models(
                yaml,
                annotated(
                        "iris",
                        Map.of(
                                annotation,
                                value,
                                annotation.equals("rates") ? "cache" : "rates",
                                annotation.equals("rates") ? "{caller: true}" : "{requests_per_second: 5}")));
        ModelConfig model = model(models, "iris");
        assertThat(model.upstream()).isEqualTo("ml/iris-predictor");
        assertThat(model.rates().isEmpty()).isEqualTo(annotation.equals("rates"));
        assertThat(models.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.unexpected()).isTrue();
            assertThat(problem.text())
                    .startsWith("InferenceService 'ml/iris' has an annotation that does not count, isthmus.dev/"
                            + annotation + ": '" + value + "': ")
                    .contains(reason);
        });
    }

    @Test
    void annotations_areNotAllowedByDefault() throws Exception {
        InferenceServiceModels models = models(DISCOVER, annotated("iris", Map.of("alias", "a")));
        assertThat(model(models, "iris").aliases()).isEmpty();
        assertThat(models.problems())
                .extracting(ServiceProblem::text)
                .containsExactly("InferenceService 'ml/iris' has an annotation that does not count,"
                        + " isthmus.dev/alias: 'a': 'annotations' of discover.kserve allows []");
    }

    @Test
    void alias_takesNoOthersName() throws Exception {
        InferenceServiceModels models = models(
                ALLOWED,
                annotated("a", Map.of("alias", "[iris, also, free]")),
                annotated("b", Map.of("alias", "also")),
                annotated("iris", Map.of()));
        assertThat(model(models, "a").aliases()).containsExactly("also", "free");
        assertThat(model(models, "b").aliases()).isEmpty();
        assertThat(models.problems())
                .extracting(ServiceProblem::text)
                .containsExactly(
                        "InferenceService 'ml/a' has an annotation that does not count, isthmus.dev/alias: 'iris':"
                                + " a model has this name",
                        "InferenceService 'ml/b' has an annotation that does not count, isthmus.dev/alias: 'also':"
                                + " InferenceService 'ml/a' has this alias");
    }

    @Test
    void alias_isThatOfTheOnlyModel_whateverItsName() throws Exception {
        InferenceServiceModels models = listing(
                ALLOWED,
                Map.of("ml/vision-predictor", Set.of("cats")),
                Map.of(),
                annotated("vision", Map.of("alias", "a")));
        assertThat(model(models, "cats").aliases()).containsExactly("a");
        assertThat(models.problems()).isEmpty();
    }

    /** Calls of the alias would get to servers of another one, or to a model of the file. */
    @ParameterizedTest
    @CsvSource({"cats", "birds", "own"})
    void alias_isNotThatOfAModelThatAnotherOneHas(String name) throws Exception {
        InferenceServiceModels models = listing(
                ALLOWED + """

                upstreams: {t: {protocol: rest, endpoints: ["t:1"]}}
                models: {own: {upstream: t}}
                """,
                Map.of("ml/vision-predictor", Set.of(name), "ml/nest-predictor", Set.of("birds")),
                Map.of(),
                annotated("cats", Map.of()),
                annotated("nest", Map.of()),
                annotated("vision", Map.of("alias", "a")));
        assertThat(model(models, name).aliases()).isEmpty();
        assertThat(models.problems())
                .extracting(ServiceProblem::text)
                .containsExactly("InferenceService 'ml/vision' has an annotation that does not count,"
                        + " isthmus.dev/alias: 'a': its model '" + name + "' is another one's");
    }

    @Test
    void annotations_holdForSeveralModels_exceptAnAlias() throws Exception {
        InferenceServiceModels models = listing(
                ALLOWED,
                Map.of("ml/vision-predictor", Set.of("cats", "dogs")),
                Map.of(),
                annotated("vision", Map.of("alias", "a", "rates", "{requests_per_second: 5}")));
        assertThat(model(models, "cats").rates()).hasSize(1);
        assertThat(model(models, "cats").aliases()).isEmpty();
        assertThat(models.problems())
                .extracting(ServiceProblem::text)
                .containsExactly("InferenceService 'ml/vision' has an annotation that does not count,"
                        + " isthmus.dev/alias: 'a': one model is expected, got [cats, dogs]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'model': {'protocolVersion': 'v1'}|v1",
                "'model': {'protocolVersion': 'grpc-v1'}|grpc-v1",
                "'model': {'modelFormat': {'name': 'sklearn'}}|v1",
                "'containers': [{'name': 'kserve-container'}]|v1",
                "'containers': []|v1",
                "|v1",
            })
    void otherProtocol_isNoModel(@Nullable String predictor, String protocol) throws Exception {
        InferenceService service = service("iris", predictor == null ? "" : predictor, READY);
        InferenceServiceModels models = models(DISCOVER, service);
        assertThat(models.config().models()).isEmpty();
        assertThat(models.config().upstreams()).isEmpty();
        assertThat(models.problems())
                .containsExactly(new ServiceProblem(
                        "ml/iris",
                        "InferenceService 'ml/iris' is no model: protocol v2 or grpc-v2 is expected, got '" + protocol
                                + "'",
                        false));
    }

    @Test
    void settings_overrideTheResource() throws Exception {
        GatewayConfig config = models("""
                        upstream_defaults: {protocol: rest, timeout: 7s, checks: {interval: 3s}}
                        discover:
                          kserve:
                            - {namespace: ml, protocol: grpc, port: rpc, upstream: {checks: {timeout: 2s}, discover: true}}
                        """, service("iris", "'model': {'protocolVersion': 'v1'}", READY))
                .config();
        UpstreamConfig upstream = upstream(config, "ml/iris-predictor");
        assertThat(upstream.protocol()).isEqualTo(UpstreamProtocol.GRPC);
        assertThat(endpoints(config, "ml/iris-predictor")).containsExactly("k8s:ml/iris-predictor:rpc");
        assertThat(upstream.timeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(upstream.checks().interval()).isEqualTo(Duration.ofSeconds(3));
        assertThat(upstream.checks().timeout()).isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void serversOfAllUpstreams_areAskedForTheirModels() throws Exception {
        String traffic = revisions(target("iris-predictor-00002", 20), target("iris-predictor-00001", 80));
        assertThat(models(DISCOVER, service("cifar", V2, READY), service("iris", V2, traffic))
                        .config()
                        .upstreams()
                        .values())
                .hasSize(3)
                .allMatch(UpstreamConfig::discover);
    }

    @Test
    void firstOfSeveralPorts() throws Exception {
        String ports = "'model': {'protocolVersion': 'grpc-v2', 'ports': [{'name': 'h2c', 'containerPort': 9000}%s]}";
        assertThat(endpoints(
                        models(DISCOVER, service("iris", ports.formatted(", {'name': 'metrics'}"), READY))
                                .config(),
                        "ml/iris-predictor"))
                .containsExactly("k8s:ml/iris-predictor:h2c");
        assertThat(endpoints(
                        models(DISCOVER, service("iris", ports.formatted(""), READY))
                                .config(),
                        "ml/iris-predictor"))
                .containsExactly("k8s:ml/iris-predictor");
    }

    @Test
    void canary_isSplitByTraffic() throws Exception {
        String traffic = revisions(target("iris-predictor-00002", 20), target("iris-predictor-00001", 80));
        GatewayConfig config = models(DISCOVER, service("iris", V2, traffic)).config();
        assertThat(requireNonNull(config.models().get("iris")).allTargets())
                .containsExactly(
                        new TargetConfig("iris-predictor-00002", "ml/iris-predictor-00002", null, null, 20),
                        new TargetConfig("iris-predictor-00001", "ml/iris-predictor-00001", null, null, 80));
        assertThat(endpoints(config, "ml/iris-predictor-00001"))
                .containsExactly("k8s:ml/iris-predictor-00001-private:http");
    }

    /** With a stable predictor of this name, and canaries. */
    private static InferenceService withCanaries(String stable, List<String> canaries, String... statuses)
            throws Exception {
        return InferenceService.of(new JsonMapper()
                .readTree("""
                        {'metadata': {'name': 'iris'},
                         'spec': {'predictor': {'name': '%s', 'minReplicas': 2, 'model': {'modelFormat': {'name': 'onnx'},
                                    'protocolVersion': 'v2', 'ports': [{'name': 'rest'}, {'name': 'metrics'}]}},
                                  'canary': [%s]},
                         'status': {%s, 'canaryStatuses': [%s]}}
                        """.formatted(stable, String.join(", ", canaries), READY, String.join(", ", statuses))
                        .replace('\'', '"')));
    }

    private static String canary(String name, int percent, String more) {
        return "{'predictor': {'name': '" + name + "', 'model': {'storageUri': 's3://m'" + more
                + "}}, 'trafficPercent': " + percent + "}";
    }

    private static String ready(String name) {
        return "{'name': '" + name + "', 'ready': true, 'trafficPercent': 1}";
    }

    private static List<TargetConfig> targets(InferenceServiceModels models) {
        return requireNonNull(models.config().models().get("iris")).allTargets();
    }

    private static TargetConfig share(String service, int percent) {
        return new TargetConfig(service, "ml/" + service, null, null, percent);
    }

    @Test
    void canariesOfDeployments_getTheirPercentages() throws Exception {
        List<String> canaries = List.of(canary("v2", 20, ""), canary("v3", 5, ", 'protocolVersion': 'grpc-v2'"));
        InferenceServiceModels models = models(DISCOVER, withCanaries("", canaries, ready("v2"), ready("v3")));
        assertThat(targets(models))
                .containsExactly(
                        share("iris-predictor", 75), share("iris-v2-predictor", 20), share("iris-v3-predictor", 5));
        // What a canary does not set is the stable predictor's.
        assertThat(endpoints(models.config(), "ml/iris-predictor")).containsExactly("k8s:ml/iris-predictor:rest");
        assertThat(endpoints(models.config(), "ml/iris-v2-predictor")).containsExactly("k8s:ml/iris-v2-predictor:rest");
        assertThat(upstream(models.config(), "ml/iris-v2-predictor").protocol()).isEqualTo(UpstreamProtocol.REST);
        assertThat(upstream(models.config(), "ml/iris-v3-predictor").protocol()).isEqualTo(UpstreamProtocol.GRPC);
    }

    @Test
    void canary_thatIsNotReadyOrHasNoShare_getsNoCalls() throws Exception {
        List<String> canaries = List.of(canary("v2", 20, ""), canary("v3", 0, ""), canary("v4", 10, ""));
        String notReady = "{'name': 'v2', 'ready': false, 'trafficPercent': 20}";
        InferenceServiceModels models =
                models(DISCOVER, withCanaries("", canaries, notReady, ready("v3"), ready("v4")));
        assertThat(targets(models)).containsExactly(share("iris-predictor", 90), share("iris-v4-predictor", 10));
        assertThat(models.config().upstreams()).containsOnlyKeys("ml/iris-predictor", "ml/iris-v4-predictor");
        // Without a status, which 0.20 writes with the canary's Deployment, none is ready.
        assertThat(models(DISCOVER, withCanaries("", canaries)).config().models())
                .containsValue(ModelConfig.of("ml/iris-predictor"));
    }

    @Test
    void promotedCanary_keepsItsServers() throws Exception {
        GatewayConfig before = models(DISCOVER, withCanaries("", List.of(canary("v2", 20, "")), ready("v2")))
                .config();
        GatewayConfig all = models(DISCOVER, withCanaries("v1", List.of(canary("v2", 100, "")), ready("v2")))
                .config();
        GatewayConfig after = models(DISCOVER, withCanaries("v2", List.of())).config();
        assertThat(after.models()).containsValue(ModelConfig.of("ml/iris-v2-predictor"));
        assertThat(all.models()).isEqualTo(after.models());
        assertThat(upstream(after, "ml/iris-v2-predictor")).isEqualTo(upstream(before, "ml/iris-v2-predictor"));
    }

    @Test
    void canaryOfAnotherProtocol_leavesItsShare() throws Exception {
        List<String> canaries = List.of(canary("v2", 20, ", 'protocolVersion': 'v1'"));
        InferenceServiceModels models = models(DISCOVER, withCanaries("", canaries, ready("v2")));
        assertThat(models.config().models()).containsValue(ModelConfig.of("ml/iris-predictor"));
        assertThat(models.problems())
                .containsExactly(new ServiceProblem(
                        "ml/iris",
                        "InferenceService 'ml/iris' gives its canary 'v2' no calls: protocol v2 or grpc-v2 is expected,"
                                + " got 'v1'",
                        true));
    }

    @ParameterizedTest
    @CsvSource({"'', v2, v2", "v2, v2, v3", "'', x%26watch=1, v3", "'', '', v3"})
    void nameOfACanary_isCheckedAndUnique(String stable, String first, String second) throws Exception {
        List<String> canaries = List.of(canary(first, 20, ""), canary(first, 20, ""), canary(second, 10, ""));
        InferenceServiceModels models = models(DISCOVER, withCanaries(stable, canaries, ready(first), ready(second)));
        assertThat(targets(models))
                .hasSize(2)
                .extracting(TargetConfig::weight)
                .contains(first.equals(second) ? 20 : 10);
    }

    @Test
    void revisionOverGrpc_hasKnativesPort() throws Exception {
        String traffic = revisions(target("iris-predictor-00002", 100));
        GatewayConfig config = models(DISCOVER, service("iris", "'model': {'protocolVersion': 'grpc-v2'}", traffic))
                .config();
        assertThat(config.models()).containsValue(ModelConfig.of("ml/iris-predictor-00002"));
        assertThat(endpoints(config, "ml/iris-predictor-00002"))
                .containsExactly("k8s:ml/iris-predictor-00002-private:http2");
    }

    @Test
    void revisionsWithoutTraffic_getNone() throws Exception {
        String once = target("iris-predictor-00001", 60);
        String traffic = revisions(target("iris-predictor-00002", 0), once, target("iris-predictor-00001", 40));
        assertThat(models(DISCOVER, service("iris", V2, traffic)).config().models())
                .containsValue(ModelConfig.of("ml/iris-predictor-00001"));
        assertThat(models(DISCOVER, service("iris", V2, revisions())).config().models())
                .containsValue(ModelConfig.of("ml/iris-predictor-00002"));
    }

    @Test
    void longNameOfARevision_isShortenedAsKnativeDoes() throws Exception {
        String revision = "a-model-with-a-rather-long-descriptive-name-predictor-00001";
        GatewayConfig config = models(DISCOVER, service("iris", V2, revisions(target(revision, 100))))
                .config();
        assertThat(endpoints(config, "ml/" + revision))
                .containsExactly("k8s:ml/a-model-with-a-rather-lb20cf765a3d9e9ca3abd122a7f1e126d-private:http");
    }

    @Test
    void nameOfARevision_isChecked() throws Exception {
        String traffic = revisions(target("x%26watch=1", 50), target("iris-predictor-00001", 50));
        assertThat(models(DISCOVER, service("iris", V2, traffic)).config().upstreams())
                .containsOnlyKeys("ml/iris-predictor-00001");
    }

    @Test
    void readiness_decidesOnce() throws Exception {
        String notReady = "'conditions': [{'type': 'Ready', 'status': 'Unknown'}]";
        String before = notReady + ", 'components': {'predictor': {'url': 'http://iris-predictor.ml.example.com'}}";
        assertThat(models(DISCOVER, service("iris", V2, "")).config().models()).isEmpty();
        assertThat(models(DISCOVER, service("iris", V2, notReady)).config().models())
                .isEmpty();
        assertThat(models(DISCOVER, service("iris", V2, before)).config().models())
                .containsOnlyKeys("iris");
        assertThat(models(DISCOVER, service("iris", V2, notReady)).problems()).isEmpty();
    }

    @Test
    void modelAndAliasOfTheFile_takePrecedence() throws Exception {
        String yaml = """
                upstreams: {t: {protocol: grpc, endpoints: ["t:1"]}}
                models:
                  iris: {upstream: t}
                  other: {upstream: t, aliases: [digits]}
                  "s*": {upstream: t}
                """ + DISCOVER;
        InferenceServiceModels models =
                models(yaml, service("iris", V2, READY), service("digits", V2, READY), service("simple", V2, READY));
        assertThat(models.config().models()).containsOnlyKeys("iris", "other", "s*", "simple");
        assertThat(models.config().models()).containsEntry("iris", ModelConfig.of("t"));
        assertThat(models.config().upstreams()).containsOnlyKeys("t", "ml/simple-predictor");
        assertThat(models.problems())
                .containsExactlyElementsOf(Stream.of("digits", "iris")
                        .map(name -> new ServiceProblem(
                                "ml/" + name,
                                "InferenceService 'ml/" + name
                                        + "' is no model: the configuration has a model or an alias of this name",
                                true))
                        .toList());
    }

    @Test
    void sameNameInTwoNamespaces_firstItemCounts() throws Exception {
        InferenceServiceModels models =
                models("discover: {kserve: [{namespace: ml}, {namespace: spot}]}", service("iris", V2, READY));
        assertThat(models.config().upstreams()).containsOnlyKeys("ml/iris-predictor");
        assertThat(models.problems())
                .containsExactly(new ServiceProblem(
                        "spot/iris",
                        "InferenceService 'spot/iris' is no model: InferenceService 'ml/iris' has this name",
                        true));
    }
}

package dev.isthmus.gateway.endtoend;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.endtoend.KubernetesCluster.PodState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import io.micrometer.core.instrument.Timer;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * A gateway in front of InferenceServices of a real Kubernetes API server with KServe's definition of them. What
 * KServe's controller would write, tests write; its pods are gateways with the embedded models.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KServeTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final String GROUP = "serving.kserve.io";
    private static final String READY = "'conditions': [{'type': 'Ready', 'status': 'True'}], 'components':"
            + " {'predictor': {'url': 'http://simple-predictor.ml.example.com'}}, 'deploymentMode': 'Standard'";
    private static final String NOT_READY = "'conditions': [{'type': 'Ready', 'status': 'False'}]";
    private static final String ONES = "[" + "1,".repeat(15) + "1]";
    private static final String SIMPLE = """
            {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": %s},
                        {"name": "INPUT1", "shape": [1, 16], "datatype": "INT32", "data": %s}]}
            """.formatted(ONES, ONES);

    @TempDir
    static Path folder = Path.of(".");

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private KubernetesCluster cluster;
    private Gateway pod;
    private String namespace = "";

    @BeforeAll
    void start() throws Exception {
        cluster = new KubernetesCluster(folder);
        Path definitions = Script.folder("crds", Script.run("install.sh", "crds"));
        cluster.define(
                definitions.resolve("inferenceservices.yaml"),
                "/apis/" + GROUP + "/v1beta1/namespaces/default/inferenceservices");
        for (String kind : List.of("httproutes", "grpcroutes")) {
            cluster.define(definitions.resolve(kind + ".yaml"), routes("default", kind));
        }
        pod = pod();
    }

    @AfterAll
    void stop() throws Exception {
        pod.close();
        cluster.close();
        client.shutdownNow();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        namespace = KubernetesCluster.namespace(test);
        cluster.create(namespace, "none");
        Files.writeString(folder.resolve("token"), cluster.token(namespace, "first"));
        log.start();
        logger().addAppender(log);
    }

    @AfterEach
    void detach() {
        logger().detachAppender(log);
    }

    private static Logger logger() {
        return (Logger) LoggerFactory.getLogger("dev.isthmus.gateway.fleet");
    }

    private static Gateway pod() throws Exception {
        return TestGateways.start("""
                listeners: [{host: "%s", port: 0, access: open}]
                local: {embedded_models: true}
                default_upstream: local
                """.formatted(KubernetesCluster.address()));
    }

    private static int port(Gateway gateway) {
        return gateway.addresses().getFirst().getPort();
    }

    private Gateway gateway(String more) throws Exception {
        return TestGateways.start("""
                listeners: [{host: "127.0.0.1", port: 0}]
                kubernetes: {api_server: "%s", ca_file: "%s", token_file: "%s"}
                upstream_defaults: {checks: {interval: 200ms}}
                discover: {kserve: [{namespace: %s, selector: "team in (vision, speech)"}]}
                %s
                """.formatted(cluster.url(), cluster.ca(), folder.resolve("token"), namespace, more));
    }

    private void allow() throws Exception {
        cluster.allow(namespace, namespace, GROUP, "inferenceservices");
    }

    private String path(String name) {
        return "/apis/" + GROUP + "/v1beta1/namespaces/" + namespace + "/inferenceservices" + name;
    }

    /** Creates one that is not ready. */
    private void service(String name, String protocol, String team) throws Exception {
        cluster.request("POST", path(""), """
                {'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService',
                 'metadata': {'name': '%s', 'labels': {'team': '%s'}},
                 'spec': {'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'protocolVersion': '%s'}}}}
                """.formatted(name, team, protocol));
    }

    private void status(String name, String status) throws Exception {
        cluster.request("PATCH", path("/" + name + "/status"), "{'status': {" + status + "}}");
    }

    /** Ready pods of a Service: this test's one. */
    private void pods(String service) throws Exception {
        cluster.slice(namespace, service, service, "http1", port(pod), PodState.READY);
    }

    private HttpResponse<String> infer(Gateway gateway, String model) throws Exception {
        String body = model.equals("simple") ? SIMPLE : digit();
        return client.send(
                HttpRequest.newBuilder(
                                URI.create("http://127.0.0.1:" + port(gateway) + "/v2/models/" + model + "/infer"))
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static String digit() throws Exception {
        try (InputStream in = requireNonNull(KServeTest.class.getResourceAsStream("/models/digits/sample.json"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private void awaitStatus(Gateway gateway, String model, int status) {
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(infer(gateway, model).statusCode()).as(model).isEqualTo(status));
    }

    private List<String> warnings() {
        return log.list.stream()
                .filter(event -> event.getLevel().toString().equals("WARN"))
                .map(ILoggingEvent::getFormattedMessage)
                .filter(text -> text.contains(namespace) && text.contains("InferenceService"))
                .toList();
    }

    @Test
    void readyServices_becomeModels_untilTheyAreDeleted() throws Exception {
        allow();
        service("simple", "v2", "vision");
        pods("simple-predictor");
        try (Gateway gateway = gateway("")) {
            assertThat(infer(gateway, "simple").statusCode()).isEqualTo(404);
            status("simple", READY);
            awaitStatus(gateway, "simple", 200);
            assertThat(infer(gateway, "simple").body()).contains("[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]");
            try (SteadyCalls calls = new SteadyCalls(port(gateway))) {
                service("digits", "grpc-v2", "speech");
                pods("digits-predictor");
                status("digits", READY);
                awaitStatus(gateway, "digits", 200);
                // Its pods are gone, while it is there.
                status("digits", NOT_READY);
                cluster.slice(
                        namespace, "digits-predictor", "digits-predictor", "http1", port(pod), PodState.NOT_READY);
                awaitStatus(gateway, "digits", 503);
                cluster.request("DELETE", path("/digits"), "");
                awaitStatus(gateway, "digits", 404);
                calls.stop();
                assertThat(calls.failures).isEmpty();
                assertThat(calls.succeeded.get()).isPositive();
            }
            assertThat(gateway.config().upstreams()).containsOnlyKeys(namespace + "/simple-predictor");
        }
    }

    @Test
    void selector_andNamesOfTheFile() throws Exception {
        allow();
        for (String name : List.of("simple", "digits", "other")) {
            service(name, name.equals("other") ? "v1" : "v2", name.equals("digits") ? "audio" : "vision");
            status(name, READY);
        }
        pods("digits-predictor");
        try (Gateway gateway = gateway("""
                local: {embedded_models: true}
                models: {simple: {upstream: local}}
                """)) {
            // Known with the start.
            assertThat(gateway.config().upstreams()).isEmpty();
            awaitStatus(gateway, "simple", 200);
            cluster.request("PATCH", path("/digits"), "{'metadata': {'labels': {'team': 'vision'}}}");
            awaitStatus(gateway, "digits", 200);
            cluster.request("PATCH", path("/digits"), "{'metadata': {'labels': {'team': 'audio'}}}");
            awaitStatus(gateway, "digits", 404);
            assertThat(warnings())
                    .containsExactly("InferenceService '" + namespace
                            + "/simple' is no model: the configuration has a model or an alias of this name");
        }
    }

    @Test
    void canary_getsItsPercentage() throws Exception {
        allow();
        service("simple", "v2", "vision");
        Gateway second = pod();
        cluster.slice(namespace, "simple-predictor-00001-private", "one", "http", port(pod), PodState.READY);
        cluster.slice(namespace, "simple-predictor-00002-private", "two", "http", port(second), PodState.READY);
        status("simple", traffic(Map.of(1, 100)));
        try (Gateway gateway = gateway("")) {
            awaitStatus(gateway, "simple", 200);
            assertThat(gateway.config().models())
                    .containsEntry("simple", ModelConfig.of(namespace + "/simple-predictor-00001"));
            cluster.request("PATCH", path("/simple"), "{'spec': {'predictor': {'canaryTrafficPercent': 30}}}");
            status("simple", traffic(Map.of(2, 30, 1, 70)));
            awaitWeights(gateway, Map.of("simple-predictor-00001", 70, "simple-predictor-00002", 30));
            long before = calls(second);
            for (int i = 0; i < 200; i++) {
                assertThat(infer(gateway, "simple").statusCode()).isEqualTo(200);
            }
            // 60 are expected, with a standard deviation of 6.5.
            assertThat(calls(second) - before).isBetween(15L, 105L);
            status("simple", traffic(Map.of(2, 100)));
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(gateway.config().models())
                            .containsEntry("simple", ModelConfig.of(namespace + "/simple-predictor-00002")));
            awaitStatus(gateway, "simple", 200);
        } finally {
            second.close();
        }
    }

    /** The status of a service that Knative deploys. */
    private static String traffic(Map<Integer, Integer> percentages) {
        String targets = percentages.entrySet().stream()
                .map(each -> "{'revisionName': 'simple-predictor-0000%d', 'percent': %d, 'latestRevision': %b}"
                        .formatted(each.getKey(), each.getValue(), each.getKey() == 2))
                .collect(Collectors.joining(", "));
        return "'conditions': [{'type': 'Ready', 'status': 'True'}], 'deploymentMode': 'Serverless',"
                + " 'components': {'predictor': {'traffic': [" + targets + "]}}";
    }

    private static void awaitWeights(Gateway gateway, Map<String, Integer> weights) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(
                                requireNonNull(gateway.config().models().get("simple"))
                                        .targets())
                        .extracting(TargetConfig::label, TargetConfig::weight)
                        .containsExactlyInAnyOrderElementsOf(weights.entrySet().stream()
                                .map(each -> tuple(each.getKey(), each.getValue()))
                                .toList()));
    }

    /** The inferences that a pod has answered. */
    private static long calls(Gateway pod) {
        return pod.meters().find("isthmus.requests").tag("operation", "infer").timers().stream()
                .mapToLong(Timer::count)
                .sum();
    }

    private static String routes(String namespace, String kind) {
        return "/apis/gateway.networking.k8s.io/v1/namespaces/" + namespace + "/" + kind;
    }

    @Test
    void routesOfTheGuide_areAccepted() throws Exception {
        String guide = Files.readString(Script.path("../docs/guides/kubernetes.md"));
        Matcher resources = Pattern.compile(
                        "(?s)apiVersion: gateway\\.networking\\.k8s\\.io/v1\nkind: (\\w+)\n.*?(?=---|```)")
                .matcher(guide);
        List<String> kinds = new ArrayList<>();
        while (resources.find()) {
            String kind = resources.group(1);
            kinds.add(kind);
            cluster.createYaml(
                    routes(namespace, kind.toLowerCase(Locale.ROOT) + "s") + "?fieldValidation=Strict",
                    resources.group().replace("namespace: gateways", "namespace: " + namespace));
        }
        assertThat(kinds).containsExactly("HTTPRoute", "GRPCRoute");
    }

    @Test
    void missingPermission_isNamedOnce_othersAreServed() throws Exception {
        service("digits", "grpc-v2", "vision");
        status("digits", READY);
        pods("digits-predictor");
        try (Gateway gateway = gateway("""
                local: {embedded_models: true}
                models: {simple: {upstream: local}}
                """)) {
            awaitStatus(gateway, "simple", 200);
            assertThat(infer(gateway, "digits").statusCode()).isEqualTo(404);
            assertThat(warnings())
                    .singleElement()
                    .asString()
                    .contains("Namespace '" + namespace + "' with InferenceServices cannot be watched, its last models"
                            + " stay in use: the API server responds with 403")
                    .contains("cannot list resource \"inferenceservices\" in API group \"serving.kserve.io\"");
            allow();
            awaitStatus(gateway, "digits", 200);
        }
    }

    @Test
    void apiServerGone_modelsStay() throws Exception {
        allow();
        service("simple", "v2", "vision");
        status("simple", READY);
        pods("simple-predictor");
        try (Gateway gateway = gateway("")) {
            awaitStatus(gateway, "simple", 200);
            try (SteadyCalls calls = new SteadyCalls(port(gateway))) {
                withoutApiServer(gateway, calls);
                service("digits", "v2", "vision");
                pods("digits-predictor");
                status("digits", READY);
                awaitStatus(gateway, "digits", 200);
                calls.stop();
                assertThat(calls.failures).isEmpty();
            }
        }
    }

    private void withoutApiServer(Gateway gateway, SteadyCalls calls) throws Exception {
        cluster.stopApiServer();
        try {
            await().atMost(PATIENCE).until(() -> !warnings().isEmpty());
            // A reload keeps what was discovered.
            assertThat(gateway.reload(gateway.config().withModels(Map.of(), Map.of())))
                    .isInstanceOf(ReloadResult.Applied.class);
            calls.awaitMore(1_000);
        } finally {
            cluster.startApiServer();
        }
    }
}

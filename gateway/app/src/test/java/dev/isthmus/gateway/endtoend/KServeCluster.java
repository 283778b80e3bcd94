package dev.isthmus.gateway.endtoend;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.endtoend.KubernetesCluster.PodState;
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
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.TestInfo;

/**
 * InferenceServices of a real Kubernetes API server with a version of KServe's definition of them. What KServe's
 * controller would write, tests write; its pods are gateways with the embedded models.
 */
final class KServeCluster implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final String GROUP = "serving.kserve.io";
    private static final String V1BETA1 = "/apis/" + GROUP + "/v1beta1/";
    private static final String V1ALPHA1 = "/apis/" + GROUP + "/v1alpha1/";
    private static final String ONES = "[" + "1,".repeat(15) + "1]";
    private static final String SIMPLE = """
            {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": %s},
                        {"name": "INPUT1", "shape": [1, 16], "datatype": "INT32", "data": %s}]}
            """.formatted(ONES, ONES);

    private final Path folder;
    private final Path definitions;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final KubernetesCluster kubernetes;
    private final Gateway pod;
    private final Gateway digits;
    private String namespace = "";

    /** @param version of KServe */
    KServeCluster(Path folder, String version) throws Exception {
        this.folder = folder;
        kubernetes = new KubernetesCluster(folder);
        definitions = Script.folder("crds", Script.run("install.sh", "crds"));
        define("inferenceservices-" + version + ".yaml", V1BETA1 + "namespaces/default/inferenceservices");
        define("servingruntimes-" + version + ".yaml", V1ALPHA1 + "namespaces/default/servingruntimes");
        define("clusterservingruntimes-" + version + ".yaml", V1ALPHA1 + "clusterservingruntimes");
        pod = pod("simple");
        digits = pod("digits");
    }

    /** Creates a kind of resources, as one of the files that were installed defines it. */
    void define(String definition, String path) throws Exception {
        kubernetes.define(definitions.resolve(definition), path);
    }

    /** An empty namespace for a test, whose account may do nothing with InferenceServices yet. */
    void prepare(TestInfo test) throws Exception {
        namespace = KubernetesCluster.namespace(test);
        kubernetes.create(namespace, "none");
        Files.writeString(folder.resolve("token"), kubernetes.token(namespace, "first"));
    }

    KubernetesCluster kubernetes() {
        return kubernetes;
    }

    String namespace() {
        return namespace;
    }

    /** The pod of all Services for which a test starts none of its own, unless their names begin with "digits". */
    Gateway pod() {
        return pod;
    }

    /** A server of some of the embedded models. */
    static Gateway pod(String... models) throws Exception {
        String each =
                Stream.of(models).map(name -> name + ": {upstream: local}").collect(Collectors.joining(", "));
        return TestGateways.start("""
                listeners: [{host: "%s", port: 0, access: open}]
                local: {embedded_models: true}
                models: {%s}
                """.formatted(KubernetesCluster.address(), each));
    }

    static int port(Gateway gateway) {
        return gateway.addresses().getFirst().getPort();
    }

    Gateway gateway(String more) throws Exception {
        return gateway("", more);
    }

    /**
     * A gateway in front of the namespace.
     *
     * @param settings further ones of discovery, each after a comma
     */
    Gateway gateway(String settings, String more) throws Exception {
        return TestGateways.start(
                """
                listeners: [{host: "127.0.0.1", port: 0}]
                kubernetes: {api_server: "%s", ca_file: "%s", token_file: "%s"}
                upstream_defaults: {checks: {interval: 200ms}}
                discover: {kserve: [{namespace: %s, selector: "team in (vision, speech)"%s}]}
                %s
                """.formatted(kubernetes.url(), kubernetes.ca(), folder.resolve("token"), namespace, settings, more));
    }

    void allow() throws Exception {
        kubernetes.allow(namespace, namespace, GROUP, "inferenceservices");
        kubernetes.allow(namespace, namespace, GROUP, "servingruntimes");
        kubernetes.allowInCluster(namespace, GROUP, "clusterservingruntimes");
    }

    String path(String name) {
        return V1BETA1 + "namespaces/" + namespace + "/inferenceservices" + name;
    }

    /** Creates a ServingRuntime of the namespace, whose server speaks some protocols. */
    void runtime(String name, String protocols) throws Exception {
        createRuntime(runtimePath(""), "ServingRuntime", name, protocols);
    }

    /** Creates a ClusterServingRuntime, whose server speaks some protocols. */
    void clusterRuntime(String name, String protocols) throws Exception {
        createRuntime(V1ALPHA1 + "clusterservingruntimes", "ClusterServingRuntime", name, protocols);
    }

    String runtimePath(String name) {
        return V1ALPHA1 + "namespaces/" + namespace + "/servingruntimes" + name;
    }

    private void createRuntime(String path, String kind, String name, String protocols) throws Exception {
        kubernetes.request("POST", path + "?fieldValidation=Strict", """
                {'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': '%s', 'metadata': {'name': '%s'},
                 'spec': {'supportedModelFormats': [{'name': 'onnx', 'version': '1', 'autoSelect': true}],
                          'protocolVersions': [%s], 'containers': [{'name': 'kserve-container', 'image': 'example'}]}}
                """.formatted(kind, name, protocols));
    }

    /** Creates one that is not ready. */
    void service(String name, String protocol, String team) throws Exception {
        service(name, "{'team': '" + team + "'}", "{}", "'protocolVersion': '" + protocol + "'");
    }

    /** Creates one that is not ready, with this in its model's specification. */
    void service(String name, String labels, String annotations, String model) throws Exception {
        kubernetes.request(
                "POST", path("") + "?fieldValidation=Strict", """
                {'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService',
                 'metadata': {'name': '%s', 'labels': %s, 'annotations': %s},
                 'spec': {'predictor': {'model':
                   {'name': 'kserve-container', 'modelFormat': {'name': 'onnx'}, %s}}}}
                """.formatted(name, labels, annotations, model));
    }

    void status(String name, String status) throws Exception {
        kubernetes.request("PATCH", path("/" + name + "/status"), "{'status': {" + status + "}}");
    }

    /** One ready pod of a Service. */
    void pods(String service) throws Exception {
        pods(service, PodState.READY);
    }

    /** One pod of a Service, of this cluster. */
    void pods(String service, PodState state) throws Exception {
        Gateway own = service.startsWith("digits") ? digits : pod;
        kubernetes.slice(namespace, service, service, "http1", port(own), state);
    }

    /** One ready pod of a Service. */
    void pods(String service, Gateway pod) throws Exception {
        kubernetes.slice(namespace, service, service, "http1", port(pod), PodState.READY);
    }

    HttpResponse<String> infer(Gateway gateway, String model) throws Exception {
        String body = model.equals("simple") ? SIMPLE : digit();
        return client.send(
                HttpRequest.newBuilder(
                                URI.create("http://127.0.0.1:" + port(gateway) + "/v2/models/" + model + "/infer"))
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static String digit() throws Exception {
        try (InputStream in = requireNonNull(KServeCluster.class.getResourceAsStream("/models/digits/sample.json"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    void awaitStatus(Gateway gateway, String model, int status) {
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(infer(gateway, model).statusCode()).as(model).isEqualTo(status));
    }

    static void awaitWeights(Gateway gateway, Map<String, Integer> weights) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(
                                requireNonNull(gateway.config().models().get("simple"))
                                        .targets())
                        .extracting(TargetConfig::label, TargetConfig::weight)
                        .containsExactlyInAnyOrderElementsOf(weights.entrySet().stream()
                                .map(each -> tuple(each.getKey(), each.getValue()))
                                .toList()));
    }

    /** The inferences that a pod has served. */
    static long calls(Gateway pod) {
        return pod.meters().find("isthmus.requests").tag("operation", "infer").timers().stream()
                .mapToLong(Timer::count)
                .sum();
    }

    @Override
    public void close() {
        pod.close();
        digits.close();
        kubernetes.close();
        client.shutdownNow();
    }
}

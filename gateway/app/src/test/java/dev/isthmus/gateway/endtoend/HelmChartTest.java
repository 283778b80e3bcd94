package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The Helm chart: its text, and what a real Kubernetes API server says of it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HelmChartTest {
    private static final Path FOLDER = Script.path("../deploy/helm").normalize();
    private static final String GATEWAYS = "gateways";
    private static final JsonMapper JSON = new JsonMapper();

    @TempDir
    static Path folder = Path.of(".");

    private String helm = "";

    @BeforeAll
    void install() throws Exception {
        helm = Script.folder("helm", Script.run("install.sh", "helm"))
                .resolve("helm")
                .toString();
    }

    private Script.Outcome helm(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(helm));
        command.addAll(List.of(arguments));
        Map<String, String> environment = Map.of(
                "HELM_CACHE_HOME", folder.resolve("cache").toString(),
                "HELM_CONFIG_HOME", folder.resolve("config").toString(),
                "HELM_DATA_HOME", folder.resolve("data").toString());
        return Script.run(environment, command);
    }

    private static String chart() {
        return FOLDER.resolve("isthmus").toString();
    }

    private static String fullValues() {
        return FOLDER.resolve("golden/full-values.yaml").toString();
    }

    private Script.Outcome template(String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(
                List.of("template", "isthmus", chart(), "--namespace", GATEWAYS, "--kube-version", "1.36.0"));
        all.addAll(List.of(arguments));
        return helm(all.toArray(String[]::new));
    }

    @Test
    void chart_passesLint() throws Exception {
        assertThat(helm("lint", "--strict", chart()).complaint()).isEmpty();
        assertThat(helm("lint", "--strict", chart(), "--values", fullValues()).complaint())
                .isEmpty();
    }

    @Test
    void templates_areAsRecorded() throws Exception {
        assertThat(template().text()).isEqualTo(Files.readString(FOLDER.resolve("golden/default.yaml")));
        assertThat(template("--values", fullValues()).text())
                .isEqualTo(Files.readString(FOLDER.resolve("golden/full.yaml")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "replicas=-1|replicas",
                "drain.timeoutSeconds=soon|timeoutSeconds",
                "replica=3|replica",
                "config.listeners=null|listeners",
                "config.listeners[0].prot=8080|prot",
                "config.upstrems.triton.protocol=grpc|upstrems",
                "config.upstreams.triton.protocol=grcp|protocol",
                "config.health.warm_up=soon|warm_up",
                "config.listeners[0].host=127.0.0.1|config.listeners[0].host: an address that the probes reach is expected",
                "config.listeners[0].port=8080|config.listeners[0]: a section 'authentication' or 'access: open'",
                "autoscaling.enabled=true,autoscaling.minReplicas=5,autoscaling.maxReplicas=2|at least minReplicas, 5",
                "config.drain.delay=1s|config.drain: set 'drain' of the chart",
                "metrics.enabled=true|metrics.token.secretName: a Secret with the admin token is expected",
                "metrics.enabled=true,metrics.token.secretName=a,config.admin.port=1|config.admin.port: the chart sets it",
                "metrics.serviceMonitor.enabled=true|metrics.enabled is expected"
            })
    void wrongValues_areNamed(String value, String name) throws Exception {
        Script.Outcome outcome = template("--set", value);
        assertThat(outcome.status()).isNotZero();
        assertThat(outcome.text()).contains(name);
    }

    @Test
    void adminPort_isOpenToTheNamespace_andToNobodyWithAnEmptyList() throws Exception {
        String enabled = "metrics.enabled=true,metrics.token.secretName=a";
        String policy = "templates/networkpolicy.yaml";
        assertThat(template("--show-only", policy, "--set", enabled).text())
                .contains("- ports: [{ port: admin }]\n      from:\n        - podSelector: {}\n");
        assertThat(template("--show-only", policy, "--set", enabled, "--set-json", "networkPolicy.metricsFrom=[]")
                        .text())
                .contains("port: http")
                .doesNotContain("port: admin");
    }

    @Test
    void user_isLeftToTheCluster_ifItIsNull() throws Exception {
        assertThat(template("--show-only", "templates/deployment.yaml", "--set", "user=null")
                        .text())
                .contains("runAsNonRoot: true")
                .doesNotContain("runAsUser", "fsGroup");
    }

    @ParameterizedTest
    @CsvSource({"256Mi, true", "511M, true", "512Mi, false", "1Gi, false", "2Gi, false", "268435456, false"})
    void heap_isSmall_belowHalfAGigabyte(String limit, boolean small) throws Exception {
        String deployment = template(
                        "--show-only", "templates/deployment.yaml", "--set-string", "resources.limits.memory=" + limit)
                .text();
        assertThat(deployment.contains("{ name: _JAVA_OPTIONS, value: \"-Xms24m -Xmn12m\" }"))
                .isEqualTo(small);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "replicas=2",
                // On all addresses, so that the probes reach it.
                "config.listeners[0].port=8081,config.listeners[0].access=open",
                "config.listeners[0].host=::,config.listeners[0].access=open"
            })
    void configuration_isValid(String value) throws Exception {
        String text = template("--show-only", "templates/configmap.yaml", "--set", value)
                .text();
        assertThat(text).containsAnyOf("host: 0.0.0.0", "host: '::'");
        Path file = folder.resolve("isthmus.yaml");
        Files.writeString(
                file,
                text.substring(text.indexOf("isthmus.yaml: |") + 15)
                        .replaceAll("(?m)^ {4}", "")
                        // The folder of the image.
                        .replace("/var/lib/isthmus", folder.toString()));
        assertThatCode(() -> ConfigLoader.load(file)).doesNotThrowAnyException();
    }

    @Test
    void release_onARealApiServer() throws Exception {
        try (KubernetesCluster cluster = new KubernetesCluster(folder)) {
            for (String namespace : List.of("ml", "spot", "models")) {
                cluster.request("POST", "/api/v1/namespaces", "{'metadata': {'name': '" + namespace + "'}}");
            }
            cluster.request("POST", "/api/v1/namespaces", """
                    {'metadata': {'name': 'gateways', 'labels': {'pod-security.kubernetes.io/enforce': 'restricted'}}}
                    """);
            Path access = cluster.kubeconfig();
            // The API server does not know the kind ServiceMonitor.
            assertThat(release(access, "install", "--dry-run=server").complaint())
                    .isEmpty();
            Script.Outcome installed = release(access, "install");
            assertThat(installed.complaint()).isEmpty();
            // Pod Security warns if the pods would be refused.
            assertThat(installed.text()).doesNotContain("PodSecurity");
            String path = "/apis/apps/v1/namespaces/gateways/deployments/isthmus";
            JsonNode deployment = cluster.request("GET", path, "");
            // 0440, which the gateway accepts for keys.
            assertThat(deployment.toString()).contains("\"secretName\":\"isthmus-tls\",\"defaultMode\":288");
            podIsAccepted(cluster, deployment);
            permissions(cluster);

            assertThat(release(access, "upgrade", "--set", "config.limits.max_requests=7")
                            .complaint())
                    .isEmpty();
            assertThat(cluster.request("GET", "/api/v1/namespaces/gateways/configmaps/isthmus", "")
                            .toString())
                    .contains("max_requests: 7");
            // The gateways read it again; no pod is replaced.
            assertThat(cluster.request("GET", path, "").path("spec").path("template"))
                    .isEqualTo(deployment.path("spec").path("template"));
            assertThat(helm("uninstall", "isthmus", "--namespace", GATEWAYS, "--kubeconfig", access.toString())
                            .complaint())
                    .isEmpty();
        }
    }

    private Script.Outcome release(Path access, String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(1, List.of("isthmus", chart(), "--namespace", GATEWAYS, "--kubeconfig", access.toString()));
        all.addAll(List.of("--values", fullValues(), "--set", "metrics.serviceMonitor.enabled=false"));
        return helm(all.toArray(String[]::new));
    }

    private static void podIsAccepted(KubernetesCluster cluster, JsonNode deployment) throws Exception {
        JsonNode template = deployment.path("spec").path("template");
        ObjectNode pod = JSON.createObjectNode();
        ((ObjectNode) pod.put("apiVersion", "v1")
                        .put("kind", "Pod")
                        .set("metadata", template.path("metadata").deepCopy()))
                .set("spec", template.path("spec"));
        ((ObjectNode) pod.path("metadata")).put("name", "isthmus");
        assertThat(cluster.request(
                                "POST",
                                "/api/v1/namespaces/gateways/pods?dryRun=All",
                                pod.toString().replace("'", "\\u0027"))
                        .path("spec")
                        .path("serviceAccountName")
                        .asText())
                .isEqualTo("isthmus");
    }

    private static void permissions(KubernetesCluster cluster) throws Exception {
        for (String verb : List.of("list", "watch")) {
            for (String namespace : List.of("ml", "spot", "models")) {
                assertThat(allowed(cluster, verb, namespace, "discovery.k8s.io", "endpointslices"))
                        .isTrue();
            }
            assertThat(allowed(cluster, verb, "default", "discovery.k8s.io", "endpointslices"))
                    .isFalse();
            assertThat(allowed(cluster, verb, "ml", "", "secrets")).isFalse();
            assertThat(allowed(cluster, verb, "models", "serving.kserve.io", "inferenceservices"))
                    .isTrue();
            assertThat(allowed(cluster, verb, "spot", "serving.kserve.io", "inferenceservices"))
                    .isFalse();
        }
        assertThat(allowed(cluster, "update", "ml", "discovery.k8s.io", "endpointslices"))
                .isFalse();
    }

    private static boolean allowed(KubernetesCluster cluster, String verb, String namespace, String group, String what)
            throws Exception {
        return cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", """
                        {'spec': {'user': 'system:serviceaccount:gateways:isthmus', 'resourceAttributes':
                          {'verb': '%s', 'namespace': '%s', 'group': '%s', 'resource': '%s'}}}
                        """.formatted(
                                verb, namespace, group, what))
                .path("status")
                .path("allowed")
                .asBoolean();
    }
}

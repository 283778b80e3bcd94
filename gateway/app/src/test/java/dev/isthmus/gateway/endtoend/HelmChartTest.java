package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The Helm chart: its text, and what a real Kubernetes API server says of it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HelmChartTest {
    private static final Path FOLDER = Script.path("../deploy/helm").normalize();
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String GATEWAYS = "gateways";
    private static final JsonMapper JSON = new JsonMapper();

    private static final String RESTRICTED = "restricted";
    private static final String OPENSHIFT = "openshift";
    private static final String METRICS = "metrics.enabled=true,metrics.token.secretName=admin";
    private static final YAMLMapper YAML = new YAMLMapper();

    /** What OpenShift's security context constraint restricted-v2 requires beyond the Pod Security Standard. */
    private static final String RESTRICTED_V2 = """
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicy
            metadata: { name: restricted-v2 }
            spec:
              matchConstraints:
                resourceRules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
              variables:
                - name: contexts
                  expression: >-
                    (object.spec.containers + object.spec.?initContainers.orValue([])).map(each, each.?securityContext)
              validations:
                - expression: >-
                    !has(object.spec.securityContext.runAsUser) && !has(object.spec.securityContext.fsGroup)
                    && !has(object.spec.securityContext.supplementalGroups)
                    && variables.contexts.all(each, !each.runAsUser.hasValue())
                  message: the cluster assigns users and groups
            """;

    private static final String RESTRICTED_V2_BINDING = """
            apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingAdmissionPolicyBinding
            metadata: { name: restricted-v2 }
            spec:
              policyName: restricted-v2
              validationActions: [Deny]
              matchResources: { namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: openshift } } }
            """;

    @TempDir
    static Path folder = Path.of(".");

    private String helm = "";
    private KubernetesCluster cluster;

    @BeforeAll
    void install() throws Exception {
        helm = Script.folder("helm", Script.run("install.sh", "helm"))
                .resolve("helm")
                .toString();
        cluster = new KubernetesCluster(folder);
        for (String namespace : List.of("ml", "spot", "models", GATEWAYS, RESTRICTED, OPENSHIFT)) {
            cluster.request(
                    "POST",
                    "/api/v1/namespaces",
                    "{'metadata': {'name': '" + namespace + "', 'labels':"
                            + " {'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted'}}}");
        }
        cluster.request(
                "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", "{'metadata': {'name': 'serving'}, 'value': 1}");
        // Of pods that are checked and not created.
        for (String namespace : List.of(RESTRICTED, OPENSHIFT)) {
            for (String account : List.of("default", "isthmus", "isthmus-validation")) {
                cluster.request(
                        "POST",
                        "/api/v1/namespaces/" + namespace + "/serviceaccounts",
                        "{'metadata': {'name': '" + account + "'}}");
            }
        }
        Path definitions = Script.folder("crds", Script.run("install.sh", "crds"));
        cluster.define(definitions.resolve("httproutes.yaml"), "/apis/gateway.networking.k8s.io/v1/httproutes");
        cluster.define(definitions.resolve("grpcroutes.yaml"), "/apis/gateway.networking.k8s.io/v1/grpcroutes");
        cluster.define(definitions.resolve("certificates.yaml"), "/apis/cert-manager.io/v1/certificates");
        cluster.define(definitions.resolve("scaledobjects.yaml"), "/apis/keda.sh/v1alpha1/scaledobjects");
        cluster.define(definitions.resolve("servicemonitors.yaml"), "/apis/monitoring.coreos.com/v1/servicemonitors");
        cluster.define(definitions.resolve("prometheusrules.yaml"), "/apis/monitoring.coreos.com/v1/prometheusrules");
        String policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
        cluster.createYaml(policies + "ies", RESTRICTED_V2);
        cluster.createYaml(policies + "ybindings", RESTRICTED_V2_BINDING);
        await().atMost(PATIENCE).until(() -> !refusals(OPENSHIFT, template()).isEmpty());
    }

    @AfterAll
    void stop() throws Exception {
        cluster.close();
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
                "metrics.serviceMonitor.enabled=true|metrics.serviceMonitor.enabled: metrics.enabled is expected",
                "metrics.rules.enabled=true|metrics.rules.enabled: metrics.enabled is expected",
                "autoscaling.enabled=true,autoscaling.cpuPercent=null|cpuPercent or requestsUnderWay is expected",
                "autoscaling.enabled=true,autoscaling.requestsUnderWay=4|autoscaling.requestsUnderWay: metrics.enabled",
                "user=root|user",
                "gatewayApi.enabled=true|gatewayApi.parentRefs: a Gateway is expected",
                "certificate.enabled=true|certificate.issuerRef.name: an issuer of cert-manager is expected",
                "certificate.enabled=true,secrets[0].name=certificate,secrets[0].secretName=a|with certificate.enabled the name 'certificate' is taken"
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
    void clusterRole_isMade_forInferenceServicesOnly() throws Exception {
        String[] rbac = {"--show-only", "templates/rbac.yaml", "--values", fullValues(), "--set"};
        assertThat(template(with(rbac, "rbac.cluster=true")).text()).contains("kind: ClusterRoleBinding");
        assertThat(template(with(rbac, "rbac.cluster=false")).text())
                .contains("servingruntimes")
                .doesNotContain("ClusterRole");
        assertThat(template(with(rbac, "config.discover=null")).text())
                .contains("endpointslices")
                .doesNotContain("servingruntimes", "ClusterRole");
    }

    private static String[] with(String[] arguments, String last) {
        return Stream.concat(Stream.of(arguments), Stream.of(last)).toArray(String[]::new);
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

    /** Each alone, and all of them. */
    private static Stream<String> options() {
        List<String> options = List.of(
                "podDisruptionBudget.enabled=false,networkPolicy.enabled=false,topologySpread.enabled=false",
                "serviceAccount.create=false,serviceAccount.name=isthmus,rbac.create=false",
                "certificate.enabled=true,certificate.issuerRef.name=internal,certificate.issuerRef.kind=ClusterIssuer",
                "validation.enabled=true,config.upstreams.a.protocol=grpc,config.upstreams.a.endpoints[0]=k8s:ml/a",
                METRICS + ",metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.tlsConfig.serverName=isthmus,"
                        + "metrics.serviceMonitor.tlsConfig.ca.secret.name=ca,metrics.serviceMonitor.tlsConfig.ca.secret.key=ca.crt,"
                        + "metrics.rules.enabled=true,metrics.peers=true",
                "metrics.dashboards.enabled=true,metrics.dashboards.annotations.folder=Models",
                METRICS + ",autoscaling.enabled=true,autoscaling.requestsUnderWay=40",
                METRICS + ",autoscaling.enabled=true,autoscaling.cpuPercent=null,autoscaling.requestsUnderWay=40,"
                        + "autoscaling.keda.enabled=true,autoscaling.keda.prometheus=http://prometheus:9090,"
                        + "autoscaling.keda.authenticationRef.name=prometheus",
                "gatewayApi.enabled=true,gatewayApi.parentRefs[0].name=public,gatewayApi.grpcHostnames[0]=grpc.example",
                "ingress.enabled=true,ingress.grpcAnnotations.protocol=GRPC",
                "extraEnv[0].name=A,extraEnv[0].value=b,envFrom[0].secretRef.name=c,priorityClassName=serving,"
                        + "extraVolumes[0].name=d,extraVolumes[0].emptyDir.sizeLimit=1Mi,"
                        + "extraVolumeMounts[0].name=d,extraVolumeMounts[0].mountPath=/d");
        return Stream.concat(options.stream(), Stream.of(String.join(",", options)));
    }

    @ParameterizedTest
    @MethodSource("options")
    void resources_areAccepted_byARealApiServer(String option) throws Exception {
        assertThat(refusals(RESTRICTED, template("--set", option))).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"targetPort, targetport", "name: config, nam: config", "runAsNonRoot: true, runAsNonRoot: false"})
    void resources_areRefused_ifTheyAreWrong(String right, String wrong) throws Exception {
        assertThat(refusals(RESTRICTED, template().text().replace(right, wrong)))
                .isNotEmpty();
    }

    /** OpenShift's restricted-v2 assigns users and groups, and refuses others. */
    @ParameterizedTest
    @MethodSource("options")
    void pods_areAccepted_whereTheClusterAssignsTheUser(String option) throws Exception {
        assertThat(refusals(OPENSHIFT, template("--set", option)))
                .anySatisfy(refusal -> assertThat(refusal).contains("the cluster assigns"));
        assertThat(refusals(OPENSHIFT, template("--set", option, "--api-versions", "security.openshift.io/v1")))
                .isEmpty();
    }

    @Test
    void release_onARealApiServer() throws Exception {
        assertThat(refusals(RESTRICTED, template("--values", fullValues()))).isEmpty();
        Path access = cluster.kubeconfig();
        assertThat(release(access, "install", "--dry-run=server").complaint()).isEmpty();
        Script.Outcome installed = release(access, "install");
        assertThat(installed.complaint()).isEmpty();
        // Pod Security warns if the pods would be refused.
        assertThat(installed.text()).doesNotContain("PodSecurity");
        String path = "/apis/apps/v1/namespaces/gateways/deployments/isthmus";
        JsonNode deployment = cluster.request("GET", path, "");
        // 0440, which the gateway accepts for keys.
        assertThat(deployment.toString()).contains("\"secretName\":\"isthmus-tls\",\"defaultMode\":288");
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

    /** Without hooks: nothing runs pods here. */
    private Script.Outcome release(Path access, String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(1, List.of("isthmus", chart(), "--namespace", GATEWAYS, "--kubeconfig", access.toString()));
        all.addAll(List.of("--values", fullValues(), "--no-hooks"));
        return helm(all.toArray(String[]::new));
    }

    /** What the API server refuses of the resources and their pods, or warns of, with its reasons. */
    private List<String> refusals(String namespace, Script.Outcome rendered) throws Exception {
        assertThat(rendered.complaint()).isEmpty();
        return refusals(namespace, rendered.text());
    }

    private List<String> refusals(String namespace, String resources) throws Exception {
        List<String> refusals = new ArrayList<>();
        for (String yaml : resources.split("(?m)^---$", -1)) {
            JsonNode resource = YAML.readTree(yaml);
            if (resource.has("kind")) {
                HttpResponse<String> response = cluster.check(path(resource, namespace), yaml);
                addRefusal(refusals, response);
                JsonNode template = JSON.readTree(response.body()).path("spec").path("template");
                if (template.has("spec")) {
                    ObjectNode pod = ((ObjectNode) template.deepCopy()).put("apiVersion", "v1");
                    ((ObjectNode) pod.put("kind", "Pod").path("metadata")).put("name", "isthmus");
                    addRefusal(refusals, cluster.check(path(pod, namespace), pod.toString()));
                }
            }
        }
        return refusals;
    }

    private static void addRefusal(List<String> refusals, HttpResponse<String> response) {
        if (response.statusCode() >= 300) {
            refusals.add(response.body());
        }
        refusals.addAll(response.headers().allValues("warning"));
    }

    private static String path(JsonNode resource, String namespace) {
        String version = resource.path("apiVersion").asText();
        String kind = resource.path("kind")
                .asText()
                .toLowerCase(Locale.ROOT)
                .replaceFirst("y$", "ie")
                .replaceFirst("s$", "se");
        return String.join(
                "/",
                version.contains("/") ? "/apis" : "/api",
                version,
                kind.startsWith("cluster")
                        ? kind + "s"
                        : "namespaces/"
                                + resource.path("metadata").path("namespace").asText(namespace) + "/" + kind + "s",
                resource.path("metadata").path("name").asText());
    }

    private static void permissions(KubernetesCluster cluster) throws Exception {
        for (String verb : List.of("list", "watch")) {
            for (String namespace : List.of("ml", "spot", "models")) {
                awaitAllowed(cluster, verb, namespace, "discovery.k8s.io", "endpointslices");
            }
            for (String kind : List.of("inferenceservices", "servingruntimes")) {
                awaitAllowed(cluster, verb, "models", "serving.kserve.io", kind);
                assertThat(cluster.allowed(GATEWAYS, verb, "spot", "serving.kserve.io", kind))
                        .isFalse();
            }
            awaitAllowed(cluster, verb, "", "serving.kserve.io", "clusterservingruntimes");
            assertThat(cluster.allowed(GATEWAYS, verb, "default", "discovery.k8s.io", "endpointslices"))
                    .isFalse();
            assertThat(cluster.allowed(GATEWAYS, verb, "ml", "", "secrets")).isFalse();
        }
        assertThat(cluster.allowed(GATEWAYS, "update", "ml", "discovery.k8s.io", "endpointslices"))
                .isFalse();
    }

    /** Roles hold once the API server has read them itself. */
    private static void awaitAllowed(
            KubernetesCluster cluster, String verb, String namespace, String group, String kind) {
        await().atMost(PATIENCE).until(() -> cluster.allowed(GATEWAYS, verb, namespace, group, kind));
    }
}

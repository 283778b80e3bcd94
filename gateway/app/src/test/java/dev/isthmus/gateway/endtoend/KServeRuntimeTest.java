package dev.isthmus.gateway.endtoend;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.Rate;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Runtimes, services of several models, and annotations, with the definitions of KServe 0.20. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KServeRuntimeTest {
    private static final String READY =
            "'conditions': [{'type': 'Ready', 'status': 'True'}], 'deploymentMode': 'Standard'";
    private static final String VISION = "{'team': 'vision'}";
    private static final String ADMIN = "admin: {port: 0}";

    @TempDir
    static Path folder = Path.of(".");

    private KServeCluster kserve;
    private Gateway both;

    @BeforeAll
    void start() throws Exception {
        kserve = new KServeCluster(folder, "0.20.0");
        both = KServeCluster.pod("simple", "digits");
    }

    @AfterAll
    void stop() {
        both.close();
        kserve.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        kserve.prepare(test);
        kserve.allow();
    }

    private UpstreamProtocol protocol(Gateway gateway, String service) {
        return requireNonNull(gateway.config().upstreams().get(kserve.namespace() + "/" + service))
                .protocol();
    }

    private static String problems(Gateway gateway) throws Exception {
        int port = gateway.adminAddress().orElseThrow().getPort();
        try (InputStream in =
                URI.create("http://127.0.0.1:" + port + "/problems").toURL().openStream()) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static void awaitProblem(Gateway gateway, String text, boolean there) {
        await().atMost(KServeCluster.PATIENCE)
                .untilAsserted(() -> assertThat(problems(gateway).contains(text))
                        .as(problems(gateway))
                        .isEqualTo(there));
    }

    @Test
    void protocolOfARuntime_staysWithoutIt() throws Exception {
        String ofCluster = kserve.namespace() + "-openvino";
        kserve.clusterRuntime(ofCluster, "'v1', 'v2', 'grpc-v2'");
        kserve.runtime("own", "'grpc-v2'");
        kserve.service("simple", VISION, "{}", "'runtime': '" + ofCluster + "'");
        kserve.pods("simple-predictor");
        kserve.status("simple", READY);
        // Chosen by KServe.
        kserve.service("digits", VISION, "{}", "'storageUri': 's3://models'");
        kserve.pods("digits-predictor");
        kserve.status("digits", READY + ", 'servingRuntimeName': 'own'");
        try (Gateway gateway = kserve.gateway("", ADMIN)) {
            kserve.awaitStatus(gateway, "simple", 200);
            kserve.awaitStatus(gateway, "digits", 200);
            assertThat(protocol(gateway, "simple-predictor")).isEqualTo(UpstreamProtocol.REST);
            assertThat(protocol(gateway, "digits-predictor")).isEqualTo(UpstreamProtocol.GRPC);
            String missing = "InferenceService '" + kserve.namespace() + "/digits' is served as it was deployed: its"
                    + " runtime 'own' is neither a ServingRuntime of the namespace nor a ClusterServingRuntime.";
            try (SteadyCalls calls = new SteadyCalls(KServeCluster.port(gateway))) {
                kserve.kubernetes().request("DELETE", kserve.runtimePath("/own"), "");
                awaitProblem(gateway, missing, true);
                kserve.awaitStatus(gateway, "digits", 200);
                kserve.runtime("own", "'grpc-v2'");
                awaitProblem(gateway, missing, false);
                calls.stop();
                assertThat(calls.failures).isEmpty();
            }
        }
    }

    @Test
    void missingRuntime_isAProblem_untilItIsThere() throws Exception {
        kserve.service("digits", VISION, "{}", "'runtime': 'later'");
        kserve.pods("digits-predictor");
        kserve.status("digits", READY);
        try (Gateway gateway = kserve.gateway("", ADMIN)) {
            awaitProblem(gateway, "/digits' is no model: its runtime 'later' is neither", true);
            assertThat(kserve.infer(gateway, "digits").statusCode()).isEqualTo(404);
            kserve.runtime("later", "'v2'");
            kserve.awaitStatus(gateway, "digits", 200);
            awaitProblem(gateway, "later", false);
        }
    }

    @Test
    void serviceOfSeveralModels_becomesThem() throws Exception {
        kserve.service("vision", "v2", "vision");
        kserve.pods("vision-predictor", both);
        kserve.status("vision", READY);
        try (Gateway gateway = kserve.gateway("", "")) {
            ModelConfig model = ModelConfig.of(kserve.namespace() + "/vision-predictor");
            await().atMost(KServeCluster.PATIENCE)
                    .untilAsserted(() -> assertThat(gateway.config().models())
                            .containsOnlyKeys("simple", "digits")
                            .containsEntry("simple", model));
            kserve.awaitStatus(gateway, "simple", 200);
            kserve.awaitStatus(gateway, "digits", 200);
            // Known, and not ready.
            kserve.pods("vision-predictor", KubernetesCluster.PodState.NOT_READY);
            kserve.awaitStatus(gateway, "digits", 503);
        }
    }

    @Test
    void annotations_areSettings_ifTheyAreAllowed() throws Exception {
        kserve.service(
                "simple",
                VISION,
                "{'isthmus.dev/alias': 'sum', 'isthmus.dev/rates': '{requests_per_second: 1000}',"
                        + " 'isthmus.dev/cache': '{}', 'isthmus.dev/sticky': 'x-user'}",
                "'protocolVersion': 'v2'");
        kserve.pods("simple-predictor");
        kserve.status("simple", READY);
        try (Gateway gateway = kserve.gateway(", annotations: [alias, rates, sticky]", ADMIN)) {
            kserve.awaitStatus(gateway, "simple", 200);
            ModelConfig model = requireNonNull(gateway.config().models().get("simple"));
            assertThat(model.aliases()).containsExactly("sum");
            assertThat(model.rates()).extracting(Rate::requestsPerSecond).containsExactly(1000);
            assertThat(model.cache()).isNull();
            awaitProblem(
                    gateway,
                    "isthmus.dev/cache: '{}': 'annotations' of discover.kserve allows [alias, rates, sticky]",
                    true);
            awaitProblem(gateway, "isthmus.dev/sticky: 'x-user': ", true);
            kserve.kubernetes()
                    .request(
                            "PATCH",
                            kserve.path("/simple"),
                            "{'metadata': {'annotations': {'isthmus.dev/cache': null, 'isthmus.dev/sticky': null}}}");
            awaitProblem(gateway, "isthmus.dev", false);
        }
    }
}

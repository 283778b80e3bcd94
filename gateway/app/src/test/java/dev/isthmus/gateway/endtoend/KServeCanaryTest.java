package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ModelConfig;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Canaries without Knative, which KServe has since 0.20. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KServeCanaryTest {
    private static final String READY = "'conditions': [{'type': 'Ready', 'status': 'True'}], 'components':"
            + " {'predictor': {'url': 'http://simple-predictor.ml.example.com'}}, 'deploymentMode': 'Standard'";

    @TempDir
    static Path folder = Path.of(".");

    private KServeCluster kserve;
    private Gateway second;

    @BeforeAll
    void start() throws Exception {
        kserve = new KServeCluster(folder, "0.20.0");
        second = KServeCluster.pod("simple");
    }

    @AfterAll
    void stop() {
        second.close();
        kserve.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        kserve.prepare(test);
        kserve.allow();
        kserve.service("simple", "v2", "vision");
        kserve.pods("simple-predictor");
        kserve.status("simple", READY);
    }

    /** Changes the specification; each of its members must be known to this version of KServe. */
    private void change(String spec) throws Exception {
        kserve.kubernetes()
                .request("PATCH", kserve.path("/simple") + "?fieldValidation=Strict", "{'spec': {" + spec + "}}");
    }

    private void canary(int percent, boolean ready) throws Exception {
        change("'canary': [{'predictor': {'name': 'v2', 'model': {'name': 'kserve-container',"
                + " 'modelFormat': {'name': 'onnx'}}}, 'trafficPercent': "
                + percent + "}]");
        kserve.status(
                "simple",
                READY + ", 'canaryStatuses': [{'name': 'v2', 'ready': " + ready + ", 'trafficPercent': " + percent
                        + "}]");
    }

    private ModelConfig only(String predictor) {
        return ModelConfig.of(kserve.namespace() + "/" + predictor);
    }

    private static void awaitModel(Gateway gateway, ModelConfig model) {
        await().atMost(KServeCluster.PATIENCE)
                .untilAsserted(() -> assertThat(gateway.config().models()).containsEntry("simple", model));
    }

    @Test
    void canary_getsItsPercentage_andIsPromoted() throws Exception {
        try (Gateway gateway = kserve.gateway("")) {
            kserve.awaitStatus(gateway, "simple", 200);
            assertThat(gateway.config().models()).containsEntry("simple", only("simple-predictor"));
            try (SteadyCalls calls = new SteadyCalls(KServeCluster.port(gateway))) {
                kserve.pods("simple-v2-predictor", second);
                canary(30, true);
                KServeCluster.awaitWeights(gateway, Map.of("simple-predictor", 70, "simple-v2-predictor", 30));
                canaryGetsItsShare(gateway);
                change("'predictor': {'name': 'v2'}, 'canary': null");
                awaitModel(gateway, only("simple-v2-predictor"));
                // As KServe's controller does.
                kserve.kubernetes().deleteSlice(kserve.namespace(), "simple-predictor");
                kserve.status("simple", READY + ", 'canaryStatuses': null");
                calls.awaitMore(500);
                assertThat(calls.failures).isEmpty();
            }
            assertThat(gateway.config().upstreams()).containsOnlyKeys(kserve.namespace() + "/simple-v2-predictor");
        }
    }

    private void canaryGetsItsShare(Gateway gateway) throws Exception {
        long before = KServeCluster.calls(second);
        long all = KServeCluster.calls(gateway);
        for (int i = 0; i < 200; i++) {
            assertThat(kserve.infer(gateway, "simple").statusCode()).isEqualTo(200);
        }
        // At least 200, so that the standard deviation is 3.3 % or less.
        assertThat((KServeCluster.calls(second) - before) / (double) (KServeCluster.calls(gateway) - all))
                .isBetween(0.1, 0.5);
    }

    @Test
    void canaryThatIsNotReady_getsNoCalls() throws Exception {
        try (Gateway gateway = kserve.gateway("")) {
            kserve.awaitStatus(gateway, "simple", 200);
            kserve.pods("simple-v2-predictor", second);
            canary(40, true);
            KServeCluster.awaitWeights(gateway, Map.of("simple-predictor", 60, "simple-v2-predictor", 40));
            canary(40, false);
            awaitModel(gateway, only("simple-predictor"));
            canary(100, true);
            awaitModel(gateway, only("simple-v2-predictor"));
            change("'canary': null");
            awaitModel(gateway, only("simple-predictor"));
            kserve.awaitStatus(gateway, "simple", 200);
        }
    }
}

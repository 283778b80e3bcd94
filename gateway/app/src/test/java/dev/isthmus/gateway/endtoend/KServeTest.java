package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.endtoend.KubernetesCluster.PodState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ValueReferences;
import java.nio.file.Files;
import java.nio.file.Path;
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

/** A gateway in front of InferenceServices, as they are before KServe 0.20. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KServeTest {
    private static final String READY = "'conditions': [{'type': 'Ready', 'status': 'True'}], 'components':"
            + " {'predictor': {'url': 'http://simple-predictor.ml.example.com'}}, 'deploymentMode': 'Standard'";
    private static final String NOT_READY = "'conditions': [{'type': 'Ready', 'status': 'False'}]";

    @TempDir
    static Path folder = Path.of(".");

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private KServeCluster kserve;

    @BeforeAll
    void start() throws Exception {
        kserve = new KServeCluster(folder, "0.15.2");
        for (String kind : List.of("httproutes", "grpcroutes")) {
            kserve.define(kind + ".yaml", routes("default", kind));
        }
    }

    @AfterAll
    void stop() {
        kserve.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        kserve.prepare(test);
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

    private List<String> warnings() {
        return log.list.stream()
                .filter(event -> event.getLevel().toString().equals("WARN"))
                .map(ILoggingEvent::getFormattedMessage)
                .filter(text -> text.contains(kserve.namespace()) && text.contains("InferenceService"))
                .toList();
    }

    @Test
    void readyServices_becomeModels_untilTheyAreDeleted() throws Exception {
        kserve.allow();
        kserve.service("simple", "v2", "vision");
        kserve.pods("simple-predictor");
        try (Gateway gateway = kserve.gateway("")) {
            assertThat(kserve.infer(gateway, "simple").statusCode()).isEqualTo(404);
            kserve.status("simple", READY);
            kserve.awaitStatus(gateway, "simple", 200);
            assertThat(kserve.infer(gateway, "simple").body()).contains("[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]");
            try (SteadyCalls calls = new SteadyCalls(KServeCluster.port(gateway))) {
                kserve.service("digits", "grpc-v2", "speech");
                kserve.pods("digits-predictor");
                kserve.status("digits", READY);
                kserve.awaitStatus(gateway, "digits", 200);
                // The InferenceService exists, and none of its pods is ready.
                kserve.status("digits", NOT_READY);
                kserve.pods("digits-predictor", PodState.NOT_READY);
                kserve.awaitStatus(gateway, "digits", 503);
                kserve.kubernetes().request("DELETE", kserve.path("/digits"), "");
                kserve.awaitStatus(gateway, "digits", 404);
                calls.stop();
                assertThat(calls.failures).isEmpty();
                assertThat(calls.succeeded.get()).isPositive();
            }
            assertThat(gateway.config().upstreams()).containsOnlyKeys(kserve.namespace() + "/simple-predictor");
        }
    }

    @Test
    void selector_andNamesOfTheFile() throws Exception {
        kserve.allow();
        for (String name : List.of("simple", "digits", "other")) {
            kserve.service(name, name.equals("other") ? "v1" : "v2", name.equals("digits") ? "audio" : "vision");
            kserve.status(name, READY);
        }
        kserve.pods("digits-predictor");
        try (Gateway gateway = kserve.gateway("""
                local: {embedded_models: true}
                models: {simple: {upstream: local}}
                """)) {
            // Known with the start.
            assertThat(gateway.config().upstreams()).isEmpty();
            kserve.awaitStatus(gateway, "simple", 200);
            kserve.kubernetes()
                    .request("PATCH", kserve.path("/digits"), "{'metadata': {'labels': {'team': 'vision'}}}");
            kserve.awaitStatus(gateway, "digits", 200);
            kserve.kubernetes().request("PATCH", kserve.path("/digits"), "{'metadata': {'labels': {'team': 'audio'}}}");
            kserve.awaitStatus(gateway, "digits", 404);
            assertThat(warnings())
                    .containsExactly("InferenceService '" + kserve.namespace()
                            + "/simple' is no model: the configuration has a model or an alias of this name");
        }
    }

    @Test
    void canary_getsItsPercentage() throws Exception {
        kserve.allow();
        kserve.service("simple", "v2", "vision");
        Gateway second = KServeCluster.pod("simple");
        kserve.kubernetes()
                .slice(
                        kserve.namespace(),
                        "simple-predictor-00001-private",
                        "one",
                        "http",
                        KServeCluster.port(kserve.pod()),
                        PodState.READY);
        kserve.kubernetes()
                .slice(
                        kserve.namespace(),
                        "simple-predictor-00002-private",
                        "two",
                        "http",
                        KServeCluster.port(second),
                        PodState.READY);
        kserve.status("simple", traffic(Map.of(1, 100)));
        try (Gateway gateway = kserve.gateway("")) {
            kserve.awaitStatus(gateway, "simple", 200);
            assertThat(gateway.config().models())
                    .containsEntry("simple", ModelConfig.of(kserve.namespace() + "/simple-predictor-00001"));
            kserve.kubernetes()
                    .request("PATCH", kserve.path("/simple"), "{'spec': {'predictor': {'canaryTrafficPercent': 30}}}");
            kserve.status("simple", traffic(Map.of(2, 30, 1, 70)));
            KServeCluster.awaitWeights(gateway, Map.of("simple-predictor-00001", 70, "simple-predictor-00002", 30));
            long before = KServeCluster.calls(second);
            for (int i = 0; i < 200; i++) {
                assertThat(kserve.infer(gateway, "simple").statusCode()).isEqualTo(200);
            }
            // 60 are expected, with a standard deviation of 6.5.
            assertThat(KServeCluster.calls(second) - before).isBetween(15L, 105L);
            kserve.status("simple", traffic(Map.of(2, 100)));
            await().atMost(KServeCluster.PATIENCE)
                    .untilAsserted(() -> assertThat(gateway.config().models())
                            .containsEntry("simple", ModelConfig.of(kserve.namespace() + "/simple-predictor-00002")));
            kserve.awaitStatus(gateway, "simple", 200);
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

    private static String routes(String namespace, String kind) {
        return "/apis/gateway.networking.k8s.io/v1/namespaces/" + namespace + "/" + kind;
    }

    @Test
    void routeOfTheGuide_isAccepted() throws Exception {
        String guide = Files.readString(Script.path("../docs/guides/kubernetes.md"));
        Matcher resources = Pattern.compile(
                        "(?s)apiVersion: gateway\\.networking\\.k8s\\.io/v1\nkind: (\\w+)\n.*?(?=---|```)")
                .matcher(guide);
        List<String> kinds = new ArrayList<>();
        while (resources.find()) {
            String kind = resources.group(1);
            kinds.add(kind);
            kserve.kubernetes()
                    .createYaml(
                            routes(kserve.namespace(), kind.toLowerCase(Locale.ROOT) + "s") + "?fieldValidation=Strict",
                            resources.group().replace("namespace: gateways", "namespace: " + kserve.namespace()));
        }
        assertThat(kinds).containsExactly("HTTPRoute");
    }

    @Test
    void missingPermission_isNamedOnce_othersAreServed() throws Exception {
        kserve.service("digits", "grpc-v2", "vision");
        kserve.status("digits", READY);
        kserve.pods("digits-predictor");
        try (Gateway gateway = kserve.gateway("""
                local: {embedded_models: true}
                models: {simple: {upstream: local}}
                """)) {
            kserve.awaitStatus(gateway, "simple", 200);
            assertThat(kserve.infer(gateway, "digits").statusCode()).isEqualTo(404);
            await().atMost(KServeCluster.PATIENCE).until(() -> !warnings().isEmpty());
            assertThat(warnings())
                    .singleElement()
                    .asString()
                    .contains("Namespace '" + kserve.namespace()
                            + "' with InferenceServices cannot be watched, its last models"
                            + " stay in use: the API server responds with 403")
                    .contains("cannot list resource \"inferenceservices\" in API group \"serving.kserve.io\"");
            kserve.allow();
            kserve.awaitStatus(gateway, "digits", 200);
        }
    }

    @Test
    void apiServerGone_modelsStay() throws Exception {
        kserve.allow();
        kserve.service("simple", "v2", "vision");
        kserve.status("simple", READY);
        kserve.pods("simple-predictor");
        try (Gateway gateway = kserve.gateway("")) {
            kserve.awaitStatus(gateway, "simple", 200);
            try (SteadyCalls calls = new SteadyCalls(KServeCluster.port(gateway))) {
                withoutApiServer(gateway, calls);
                kserve.service("digits", "v2", "vision");
                kserve.pods("digits-predictor");
                kserve.status("digits", READY);
                kserve.awaitStatus(gateway, "digits", 200);
                calls.stop();
                assertThat(calls.failures).isEmpty();
            }
        }
    }

    private void withoutApiServer(Gateway gateway, SteadyCalls calls) throws Exception {
        kserve.kubernetes().stopApiServer();
        try {
            await().atMost(KServeCluster.PATIENCE).until(() -> !warnings().isEmpty());
            // A reload keeps what was discovered.
            assertThat(gateway.reload(gateway.config().withModels(Map.of(), Map.of(), ValueReferences.NONE)))
                    .isInstanceOf(ReloadResult.Applied.class);
            calls.awaitMore(1_000);
        } finally {
            kserve.kubernetes().startApiServer();
        }
    }
}

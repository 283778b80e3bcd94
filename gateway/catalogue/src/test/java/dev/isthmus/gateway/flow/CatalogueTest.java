package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.HealthConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.FakeV2Server;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.Gauge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One view of several servers. */
class CatalogueTest {
    @RegisterExtension
    final LoggedEvents logged = new LoggedEvents("dev.isthmus.gateway.management.ManageCall");

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private FakeV2Server one;
    private FakeV2Server two;
    private FakeV2Server three;
    private @Nullable Stage stage;

    @BeforeEach
    void start() throws Exception {
        one = FakeV2Server.grpc();
        two = FakeV2Server.grpc();
        three = FakeV2Server.rest();
    }

    @AfterEach
    void stop() throws Exception {
        if (stage != null) {
            stage.close();
        }
        one.close();
        two.close();
        three.close();
    }

    private static UpstreamConfig upstream(FakeV2Server... servers) {
        return TestConfigs.upstream(
                servers[0].protocol(),
                Stream.of(servers).map(FakeV2Server::endpoint).toArray(Endpoint[]::new));
    }

    private static ModelConfig model(TargetConfig... targets) {
        return TestConfigs.with(ModelConfig.DEFAULT, Map.of("targets", List.of(targets)));
    }

    private static TargetConfig target(String upstream, @Nullable String model) {
        return new TargetConfig(null, upstream, model, null, 1);
    }

    private static TargetConfig version(String upstream, @Nullable String model, String version) {
        return new TargetConfig(upstream + version, upstream, model, version, 1);
    }

    /** A gateway that has polled all of its servers. */
    private Stage fleet(Map<String, UpstreamConfig> upstreams, Map<String, ModelConfig> models, HealthConfig health)
            throws Exception {
        return fleet(upstreams, models, health, null);
    }

    private Stage fleet(
            Map<String, UpstreamConfig> upstreams,
            Map<String, ModelConfig> models,
            HealthConfig health,
            @Nullable String fallback)
            throws Exception {
        Stage opened = FleetStage.fleet(upstreams, models, health, fallback);
        stage = opened;
        await().atMost(PATIENCE).until(() -> FleetStage.catalogue(opened).settled());
        return opened;
    }

    private Stage fleet(Map<String, ModelConfig> models) throws Exception {
        return fleet(models, null);
    }

    private Stage fleet(Map<String, ModelConfig> models, @Nullable String fallback) throws Exception {
        Map<String, UpstreamConfig> each = Map.of("a", upstream(one), "b", upstream(two), "c", upstream(three));
        return fleet(each, models, DefaultValues.of(HealthConfig.class), fallback);
    }

    private static Http1Client.Response get(Stage stage, String path) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.get(path).response();
        }
    }

    private static Http1Client.Response post(Stage stage, String path, String body) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(path, body).response();
        }
    }

    private static GrpcClient grpc(Stage stage, String method, byte[] request) {
        return GrpcClient.ask(stage.channel(), method, new Metadata(), request);
    }

    @Test
    void index_ofThreeUpstreams_isMerged() throws Exception {
        one.with("both", "FP32").with("first", "FP32");
        two.with("both", "FP32");
        two.ready.clear();
        three.with("third", "FP32");
        Map<String, ModelConfig> models =
                Map.of("alias", model(target("c", "third")), "both", model(target("a", null), target("b", null)));
        Stage fleet = fleet(models, "a");
        String expected = """
                [{"name":"alias","version":"1","state":"READY"},
                 {"name":"both","version":"1","state":"READY","reason":"ready on 1 of 2: a 1 of 1, b 0 of 1"},
                 {"name":"first","version":"1","state":"READY"}]""";
        Http1Client.Response response = post(fleet, "/v2/repository/index", "");
        assertThat(JSON.readTree(response.text())).isEqualTo(JSON.readTree(expected));
        GrpcClient client = grpc(
                fleet,
                "RepositoryIndex",
                RepositoryIndexRequest.newBuilder().setReady(true).build().toByteArray());
        assertThat(RepositoryIndexResponse.parseFrom(client.response()).getModelsList())
                .extracting(RepositoryIndexResponse.ModelIndex::getName)
                .containsExactly("alias", "both", "first");
    }

    @Test
    void index_oneServerIsGone_othersAreListed() throws Exception {
        one.with("m", "FP32");
        three.with("n", "FP32");
        Stage fleet = fleet(Map.of("n", model(target("c", null))), "a");
        two.close();
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet)
                                        .indexDocument()
                                        .path("failures")
                                        .size()
                                == 1
                        || post(fleet, "/v2/repository/index", "").status() != 200);
        assertThat(JSON.readTree(post(fleet, "/v2/repository/index", "{}").text()))
                .hasSize(2);
    }

    @Test
    void index_doesNotWaitBehindThePollsOfManyModels() throws Exception {
        one.holding = true;
        Map<String, ModelConfig> models = IntStream.range(0, 40)
                .boxed()
                .collect(Collectors.toMap(number -> "m" + number, number -> model(target("a", null))));
        Stage fleet = fleet(models);
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet).repositories().size() == 3);
        assertThat(CompletableFuture.supplyAsync(() -> index(fleet)).get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isEqualTo("[]");
    }

    private static String index(Stage fleet) {
        try {
            return post(fleet, "/v2/repository/index", "").text();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void index_bodyMalformed_isRefused() throws Exception {
        assertThat(post(fleet(Map.of()), "/v2/repository/index", "{").status()).isEqualTo(400);
    }

    @Test
    void load_goesToEveryServerOfEveryTarget_underItsNameThere() throws Exception {
        Stage fleet = fleet(
                Map.of("a", upstream(one, two), "c", upstream(three)),
                Map.of("m", model(target("a", null), target("c", "other"))),
                DefaultValues.of(HealthConfig.class));
        Http1Client.Response response = post(fleet, "/v2/repository/models/m/load", "");
        assertThat(response.status()).as(response.text()).isEqualTo(200);
        assertThat(response.text()).isEmpty();
        assertThat(one.loaded).containsExactly("m");
        assertThat(two.loaded).containsExactly("m");
        assertThat(three.loaded).containsExactly("other");
    }

    @Test
    void load_ofACanaryBetweenVersions_goesToEachServerOnce() throws Exception {
        one.models.put("m", "FP32");
        Stage fleet = fleet(
                Map.of("a", upstream(one)),
                Map.of("m", model(version("a", null, "1"), version("a", null, "3"))),
                DefaultValues.of(HealthConfig.class));
        assertThat(post(fleet, "/v2/repository/models/m/load", "").status()).isEqualTo(200);
        assertThat(one.loaded).containsExactly("m");
    }

    @Test
    void load_failsOnOneServer_isReported() throws Exception {
        two.loads = false;
        Stage fleet = fleet(
                Map.of("a", upstream(one, two), "c", upstream(three)),
                Map.of("m", model(target("a", null), target("c", null))),
                DefaultValues.of(HealthConfig.class));
        byte[] request = RepositoryModelLoadRequest.newBuilder()
                .setModelName("m")
                .build()
                .toByteArray();
        Status status = grpc(fleet, "RepositoryModelLoad", request).status();
        assertThat(status.getCode()).isEqualTo(Status.Code.NOT_FOUND);
        assertThat(status.getDescription())
                .isEqualTo("load of model 'm': done by 'a' (1 of 2), 'c'; failed on 'a' (1 of 2): no such model");
        assertThat(logged.messages())
                .containsExactly("load of model 'm' failed on " + two.endpoint().authority()
                        + " of upstream 'a': NOT_FOUND: no such model");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void load_isAnsweredWhenItsResultIsKnown(boolean overGrpc) throws Exception {
        FakeV2Server server = overGrpc ? one : three;
        server.models.put("m", "FP32");
        Stage fleet = fleet(
                Map.of("a", upstream(server)),
                Map.of("m", model(target("a", null))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet).readyModels().containsKey("m"));
        for (int i = 0; i < 4; i++) {
            assertThat(post(fleet, "/v2/repository/models/m/load", "").status()).isEqualTo(200);
            assertThat(get(fleet, "/v2/models/m/ready").status()).as("loaded").isEqualTo(200);
            assertThat(post(fleet, "/v2/repository/models/m/unload", "").status())
                    .isEqualTo(200);
            assertThat(get(fleet, "/v2/models/m/ready").status()).as("unloaded").isEqualTo(400);
        }
    }

    @Test
    void load_ofADiscoveredModel_isAnsweredWhenItIsRouted() throws Exception {
        Stage fleet = fleet(
                Map.of("a", TestConfigs.with(upstream(one), Map.of("discover", true)), "b", upstream(two)),
                Map.of("inner", model(target("a", null))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE).until(() -> one.calls("RepositoryIndex") > 0);
        one.models.put("found", "FP32");
        one.models.put("inner", "FP32");
        assertThat(post(fleet, "/v2/repository/models/inner/load", "").status()).isEqualTo(200);
        assertThat(get(fleet, "/v2/models/found").status()).isEqualTo(200);
    }

    @Test
    void modelGoneOnOneServer_isServedByTheOther_andNotAskedForThere() throws Exception {
        one.with("m", "FP32");
        two.with("m", "FP32");
        Stage fleet = fleet(
                Map.of("a", upstream(one, two)),
                Map.of("m", model(target("a", null))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet).members().stream()
                        .allMatch(member -> member.models().containsValue(true)));
        one.ready.remove("m");
        one.gone.add("m");
        String request = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}";
        for (int i = 0; i < 20; i++) {
            assertThat(post(fleet, "/v2/models/m/infer", request).status()).isEqualTo(200);
        }
        assertThat(one.calls("ModelInfer m")).as("asked until the check").isBetween(0, 19);
        await().atMost(PATIENCE).until(() -> one.calls("ModelReady m") > 1);
    }

    private static List<String> entries(Iterable<JsonNode> index) {
        List<String> entries = new ArrayList<>();
        index.forEach(each -> entries.add(
                each.path("name").asText() + "/" + each.path("version").asText()));
        return entries;
    }

    @Test
    void index_hasOnlyModelsThatCallsCanGetTo() throws Exception {
        one.with("m", "FP32").with("other", "FP32");
        two.with("m", "FP32").with("hidden", "FP32").with("inner", "FP32");
        Stage fleet = fleet(Map.of("m", model(target("a", null)), "outer", model(target("b", "inner"))), "a");
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(entries(JSON.readTree(
                                post(fleet, "/v2/repository/index", "").text())))
                        .containsExactly("m/1", "other/1", "outer/1"));
        assertThat(entries(FleetStage.catalogue(fleet).indexDocument().path("models")))
                .containsExactly("m/1", "other/1", "outer/1");
        assertThat(FleetStage.catalogue(fleet).readyByUpstream())
                .containsOnly(Map.entry("a", Set.of("m", "other")), Map.entry("b", Set.of("outer")));
    }

    @Test
    void index_ofOneServer_hasOnlyItsRoutedModels_besideADefaultUpstream() throws Exception {
        one.with("m", "FP32").with("hidden", "FP32");
        try (FakeRestServer bare = FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, FakeRestServer.ok("{}"));
            return true;
        })) {
            Stage fleet = fleet(
                    Map.of("a", upstream(one), "b", TestConfigs.upstream(UpstreamProtocol.REST, bare.endpoint())),
                    Map.of("m", model(target("a", null))),
                    DefaultValues.of(HealthConfig.class),
                    "b");
            assertThat(entries(JSON.readTree(
                            post(fleet, "/v2/repository/index", "").text())))
                    .containsExactly("m/1");
        }
    }

    @Test
    void defaultVersion_doesNotHideTheOthers() throws Exception {
        one.versions = List.of("1", "2");
        one.with("m", "FP32");
        Stage fleet = fleet(
                Map.of("a", upstream(one)),
                Map.of(
                        "m", TestConfigs.with(model(target("a", null)), Map.of("defaultVersion", "1")),
                        "n", TestConfigs.with(model(target("a", "m")), Map.of("defaultVersion", "1")),
                        "o", model(version("a", "m", "2"))),
                DefaultValues.of(HealthConfig.class));
        assertThat(entries(JSON.readTree(post(fleet, "/v2/repository/index", "").text())))
                .containsExactly("m/1", "m/2", "n/1", "n/2", "o/2");
        for (String name : List.of("m", "n")) {
            assertThat(JSON.readTree(get(fleet, "/v2/models/" + name).text()).path("versions"))
                    .isEqualTo(JSON.readTree("[\"1\",\"2\"]"));
        }
        assertThat(JSON.readTree(get(fleet, "/v2/models/o").text()).path("versions"))
                .isEqualTo(JSON.readTree("[\"2\"]"));
    }

    @Test
    void statistics_ofAServerWithout_areUnimplemented_onBothProtocols() throws Exception {
        try (FakeRestServer mlserver = FakeRestServer.that((request, out) -> {
            boolean known =
                    request.head().startsWith("GET /v2 ") || request.head().contains("/ready ");
            FakeRestServer.write(
                    out,
                    known
                            ? FakeRestServer.ok("{\"name\":\"mlserver\",\"version\":\"1.7.1\",\"extensions\":[]}")
                            : "HTTP/1.1 404 No\r\nContent-Length: 22\r\n\r\n{\"detail\":\"Not Found\"}");
            return true;
        })) {
            Stage fleet = fleet(
                    Map.of("a", TestConfigs.upstream(UpstreamProtocol.REST, mlserver.endpoint())),
                    Map.of("m", model(target("a", null))),
                    DefaultValues.of(HealthConfig.class));
            Http1Client.Response response = get(fleet, "/v2/models/m/stats");
            assertThat(response.status()).as(response.text()).isEqualTo(501);
            byte[] request =
                    ModelStatisticsRequest.newBuilder().setName("m").build().toByteArray();
            assertThat(grpc(fleet, "ModelStatistics", request).status().getCode())
                    .isEqualTo(Status.Code.UNIMPLEMENTED);
        }
    }

    @Test
    void load_indexIsRequestedAgain() throws Exception {
        Stage fleet = fleet(Map.of("m", model(target("a", null), target("b", null))));
        await().atMost(PATIENCE).until(() -> one.calls("RepositoryIndex") > 0);
        one.with("m", "FP32");
        post(fleet, "/v2/repository/models/m/load", "");
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet)
                        .indexDocument()
                        .path("models")
                        .findValuesAsText("state")
                        .contains("READY"));
    }

    @Test
    void serverWithoutIndex_configuredModelsAreListedForOperators() throws Exception {
        try (FakeRestServer bare = FakeRestServer.that((request, out) -> {
            boolean missing =
                    request.head().startsWith("POST ") || request.head().contains("/absent/");
            FakeRestServer.write(
                    out, missing ? "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}" : FakeRestServer.ok("{}"));
            return true;
        })) {
            one.with("listed", "FP32");
            Stage fleet = fleet(
                    Map.of("a", upstream(one), "b", TestConfigs.upstream(UpstreamProtocol.REST, bare.endpoint())),
                    Map.of(
                            "listed", model(target("a", null)),
                            "plain", model(target("b", "inner")),
                            "absent", model(target("b", null))),
                    DefaultValues.of(HealthConfig.class));
            await().atMost(PATIENCE).untilAsserted(() -> {
                List<JsonNode> models = new ArrayList<>();
                FleetStage.catalogue(fleet).indexDocument().path("models").forEach(models::add);
                assertThat(models)
                        .extracting(each -> each.path("name").asText() + " "
                                + each.path("state").asText())
                        .containsExactly("absent UNAVAILABLE", "listed READY", "plain READY");
                assertThat(models.get(2)
                                .path("servers")
                                .path(0)
                                .path("upstream")
                                .asText())
                        .isEqualTo("b");
            });
            assertThat(JSON.readTree(post(fleet, "/v2/repository/index", "").text()))
                    .as("the index of clients")
                    .hasSize(1);
        }
    }

    @Test
    void statistics_overBothWires_areSummed() throws Exception {
        one.inferences = 1;
        two.inferences = 10;
        three.inferences = 100;
        Stage fleet = fleet(
                Map.of("a", upstream(one, two), "c", upstream(three)),
                Map.of("m", model(target("a", "there"), target("c", null))),
                DefaultValues.of(HealthConfig.class));
        JsonNode stats = JSON.readTree(get(fleet, "/v2/models/m/stats").text()).path("model_stats");
        assertThat(stats).hasSize(1);
        assertThat(stats.path(0).path("name").asText()).isEqualTo("m");
        assertThat(stats.path(0).path("inference_count").asInt()).isEqualTo(111);
        byte[] request =
                ModelStatisticsRequest.newBuilder().setName("m").build().toByteArray();
        var response = ModelStatisticsResponse.parseFrom(
                grpc(fleet, "ModelStatistics", request).response());
        assertThat(response.getModelStats(0).getInferenceCount()).isEqualTo(111);
    }

    @Test
    void statistics_ofACanaryBesideAllVersions_countOnce() throws Exception {
        one.inferences = 5;
        Stage fleet = fleet(
                Map.of("a", upstream(one)),
                Map.of("m", model(target("a", null), version("a", null, "1"))),
                DefaultValues.of(HealthConfig.class));
        JsonNode stats = JSON.readTree(get(fleet, "/v2/models/m/stats").text()).path("model_stats");
        assertThat(stats).hasSize(1);
        assertThat(stats.path(0).path("inference_count").asInt()).isEqualTo(5);
    }

    @Test
    void management_ofAModelWithoutServers_isUnavailable_andNotSentElsewhere() throws Exception {
        UpstreamConfig nowhere = TestConfigs.upstream(UpstreamProtocol.GRPC, new Endpoint("none.invalid", 8001));
        Stage fleet = fleet(
                Map.of("a", upstream(one), "nowhere", nowhere),
                Map.of("m", model(target("nowhere", null))),
                DefaultValues.of(HealthConfig.class),
                "a");
        for (Http1Client.Response response : List.of(
                get(fleet, "/v2/models/m/stats"),
                post(fleet, "/v2/repository/models/m/load", ""),
                post(fleet, "/v2/repository/models/m/unload", ""))) {
            assertThat(response.status()).as(response.text()).isEqualTo(503);
        }
    }

    @Test
    void metadata_serversDisagree_isReported() throws Exception {
        one.with("m", "FP32");
        two.with("m", "INT32");
        Stage fleet = fleet(
                Map.of("a", upstream(one, two)),
                Map.of("m", model(target("a", null))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE)
                .until(() -> FleetStage.catalogue(fleet)
                                .driftDocument()
                                .path("models")
                                .size()
                        == 1);
        JsonNode metadata = JSON.readTree(get(fleet, "/v2/models/m").text());
        assertThat(metadata.path("name").asText()).isEqualTo("m");
        assertThat(metadata.path("inputs").path(0).path("datatype").asText()).isEqualTo("FP32");
        JsonNode models = FleetStage.catalogue(fleet).driftDocument().path("models");
        assertThat(models.path(0).path("name").asText()).isEqualTo("m");
        JsonNode drift = models.path(0).path("drift").path(0);
        assertThat(drift.path("server").asText()).isEqualTo(two.endpoint().authority());
        assertThat(drift.path("kind").asText()).isEqualTo("DATATYPE");
        assertThat(drift.path("said").asText()).isEqualTo("INT32");
    }

    @Test
    void metadata_ofACanaryBetweenVersions_hasTheVersionsOfBoth_andNoDrift() throws Exception {
        one.with("m", "FP32");
        two.with("m", "FP32");
        three.with("next", "INT32");
        Stage fleet = fleet(
                Map.of("a", upstream(one, two), "c", upstream(three)),
                Map.of("m", model(version("a", null, "1"), version("a", null, "3"), version("c", "next", "4"))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(
                                JSON.readTree(get(fleet, "/v2/models/m").text()).path("versions"))
                        .extracting(JsonNode::asText)
                        .containsExactly("1", "3", "4"));
        assertThat(FleetStage.catalogue(fleet).driftDocument().path("models")).isEmpty();
        assertThat(fleet.proxy()
                        .meters()
                        .get("isthmus.model.drift")
                        .tag("model", "m")
                        .gauge()
                        .value())
                .isZero();
    }

    @Test
    void metadata_requestedAgainAndAgain_serversAreCalledOnce() throws Exception {
        one.with("m", "FP32");
        two.with("m", "FP32");
        Stage fleet = fleet(Map.of("m", model(target("a", null), target("b", null))));
        await().atMost(PATIENCE).until(() -> FleetStage.catalogue(fleet).settled());
        for (int i = 0; i < 50; i++) {
            assertThat(get(fleet, "/v2/models/m").status()).isEqualTo(200);
            assertThat(get(fleet, "/v2/models/m/ready").status()).isEqualTo(200);
        }
        // In the background, again when a server is ready, and once for an earlier client.
        assertThat(one.calls("ModelMetadata m")).isBetween(1, 5);
        assertThat(two.calls("ModelMetadata m")).isBetween(1, 5);
    }

    private static double underWay(Stage stage) {
        return stage.proxy().meters().find("isthmus.requests.under.way").gauges().stream()
                .mapToDouble(Gauge::value)
                .sum();
    }

    @Test
    void metadata_requestedByManyAtOnce_serverIsCalledOnce() throws Exception {
        one.holding = true;
        Stage fleet = FleetStage.fleet(Map.of("a", upstream(one)), Map.of(), DefaultValues.of(HealthConfig.class), "a");
        stage = fleet;
        await().atMost(PATIENCE).until(() -> FleetStage.catalogue(fleet).settled());
        byte[] request =
                ModelMetadataRequest.newBuilder().setName("late").build().toByteArray();
        List<GrpcClient> clients = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            clients.add(grpc(fleet, "ModelMetadata", request));
        }
        await().atMost(PATIENCE).until(() -> one.calls("ModelMetadata late") == 1 && underWay(fleet) == clients.size());
        one.release();
        for (GrpcClient client : clients) {
            assertThat(client.status().getCode()).isEqualTo(Status.Code.NOT_FOUND);
        }
        assertThat(one.calls("ModelMetadata late")).isEqualTo(1);
    }

    @Test
    void readinessOfAVersion_requestedByManyAtOnce_serverIsCalledOnce() throws Exception {
        Stage fleet = fleet(Map.of("a", upstream(one)), Map.of(), DefaultValues.of(HealthConfig.class), "a");
        one.holding = true;
        byte[] request = ModelReadyRequest.newBuilder()
                .setName("m")
                .setVersion("1")
                .build()
                .toByteArray();
        List<GrpcClient> clients = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            clients.add(grpc(fleet, "ModelReady", request));
        }
        await().atMost(PATIENCE).until(() -> one.calls("ModelReady m") == 1 && underWay(fleet) == clients.size());
        one.release();
        for (GrpcClient client : clients) {
            assertThat(ModelReadyResponse.parseFrom(client.response()).getReady())
                    .isFalse();
        }
        assertThat(one.calls("ModelReady m")).isEqualTo(1);
    }

    @Test
    void modelUnknownToRouting_isNotFound() throws Exception {
        Stage fleet = fleet(Map.of());
        assertThat(get(fleet, "/v2/models/x").status()).isEqualTo(404);
        assertThat(get(fleet, "/v2/models/x/ready").status()).isEqualTo(404);
    }

    @ParameterizedTest
    @CsvSource({"ANY, 1, 200", "QUORUM, 1, 400", "QUORUM, 2, 200", "ALL, 2, 400", "ALL, 3, 200", "ANY, 0, 400"})
    void modelReady_policyDecides(ReadyPolicy policy, int ready, int expected) throws Exception {
        List<FakeV2Server> servers = List.of(one, two, three);
        servers.subList(0, ready).forEach(server -> server.with("m", "FP32"));
        Stage fleet = fleet(
                Map.of("a", upstream(one, two), "c", upstream(three)),
                Map.of("m", TestConfigs.with(model(target("a", null), target("c", null)), Map.of("ready", policy))),
                DefaultValues.of(HealthConfig.class));
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(get(fleet, "/v2/models/m/ready").status()).isEqualTo(expected));
    }

    @ParameterizedTest
    @CsvSource({"ANY, 200", "QUORUM, 400", "ALL, 400"})
    void modelReady_ofAVersion_countsServersThatAreGone(ReadyPolicy policy, int expected) throws Exception {
        one.with("m", "FP32");
        two.close();
        Stage fleet = fleet(
                Map.of("a", upstream(one, two)),
                Map.of("m", TestConfigs.with(model(target("a", null)), Map.of("ready", policy))),
                DefaultValues.of(HealthConfig.class));
        assertThat(get(fleet, "/v2/models/m/versions/1/ready").status()).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"ANY, 200", "ALL, 400", "MODELS, 200"})
    void serverReady_oneUpstreamIsGone_policyDecides(ServerReadyPolicy policy, int expected) throws Exception {
        one.with("m", "FP32");
        two.close();
        Stage fleet = fleet(
                Map.of("a", upstream(one), "b", upstream(two)),
                Map.of("m", model(target("a", null))),
                new HealthConfig(policy, ReadyPolicy.ANY, Duration.ZERO, Duration.ZERO, 1000));
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(get(fleet, "/v2/health/ready").status()).isEqualTo(expected));
    }

    @Test
    void serverMetadata_namesWhatHoldsForTheFleet() throws Exception {
        Stage fleet = fleet(Map.of());
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(
                                JSON.readTree(get(fleet, "/v2").text()).path("extensions"))
                        .extracting(JsonNode::asText)
                        .containsExactly("binary_tensor_data", "model_repository", "statistics", "classification"));
    }

    @Test
    void local_isOneServerOfTheFleet() throws Exception {
        stage = FleetStage.local();
        assertThat(get(stage, "/v2/models/digits").status()).isEqualTo(200);
        assertThat(get(stage, "/v2/models/digits/ready").status()).isEqualTo(200);
        assertThat(FleetStage.catalogue(stage)
                        .members(FleetStage.catalogue(stage).upstreams().getFirst()))
                .singleElement()
                .matches(member -> member.upstream().equals(GatewayConfig.LOCAL));
    }
}

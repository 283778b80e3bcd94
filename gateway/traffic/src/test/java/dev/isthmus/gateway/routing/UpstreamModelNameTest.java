package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ModelRef;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UpstreamModelNameTest {
    private final Tables tables = new Tables();

    private static ModelRef requested(Model model, String version) {
        return new Tables()
                .route(model)
                .targets(new ModelRef("m", version))
                .getFirst()
                .model();
    }

    private static ModelRef modelOf(RoutingTable table, ModelRef requested) {
        return table.route(requested)
                .pick(requested, RequestAttributes.NONE, null)
                .target()
                .model();
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                // the target's, the default, the client's: the requested version
                "-, -,       '',      ''",
                "-, -,       5,       5",
                "-, -,       stable,  3",
                "-, -,       unknown, unknown",
                "-, -,       latest,  latest",
                "-, latest,  '',      ''",
                "-, latest,  4,       4",
                "-, canary,  '',      4",
                "-, 7,       '',      7",
                "-, 7,       stable,  3",
                "9, -,       '',      9",
                "9, canary,  '',      9",
                "3, canary,  stable,  3",
                "9, canary,  9,       9"
            })
    void version_isTheTargetsThenTheClientsThenTheDefault(
            @Nullable String pinned, @Nullable String byDefault, String client, String wanted) {
        Model model = new Model()
                .target("t", "u", null, pinned, 1)
                .label("stable", "3")
                .label("canary", "4");
        if (byDefault != null) {
            model.defaultVersion(byDefault);
        }
        assertThat(requested(model, client).version()).isEqualTo(wanted);
    }

    @Test
    void latest_asALabel_isWhatItSays() {
        Model model = Model.on("u").label("latest", "3").defaultVersion("latest");
        assertThat(requested(model, "").version()).isEqualTo("3");
        assertThat(requested(model, "latest").version()).isEqualTo("3");
    }

    @Test
    void model_withAnotherNameThere_isRenamed() {
        assertThat(requested(new Model().target("t", "u", "resnet50", null, 1), "2"))
                .isEqualTo(new ModelRef("resnet50", "2"));
    }

    @Test
    void alias_isRequestedByTheModelsName() {
        RoutingTable table = tables.table(Map.of("m", Model.on("u").alias("m-prod")));
        assertThat(modelOf(table, new ModelRef("m-prod", "2"))).isEqualTo(new ModelRef("m", "2"));
    }

    @Test
    void pattern_keepsTheClientsName() {
        RoutingTable table = tables.table(Map.of("llm-*", Model.on("u").alias("chat")));
        assertThat(modelOf(table, ModelRef.of("llm-7b"))).isEqualTo(ModelRef.of("llm-7b"));
        assertThat(modelOf(table, ModelRef.of("chat"))).isEqualTo(ModelRef.of("chat"));
    }

    @Test
    void pattern_withAModel_asksForIt() {
        RoutingTable table = tables.table(Map.of("llm-*", new Model().target("t", "u", "llama", "1", 1)));
        assertThat(modelOf(table, ModelRef.of("llm-7b"))).isEqualTo(new ModelRef("llama", "1"));
    }

    @Test
    void defaultUpstream_andDiscovered_keepWhatTheClientAsks() {
        RoutingTable table = tables.withDefault("d").discover("found", "u").table(Map.of());
        assertThat(modelOf(table, new ModelRef("x", "3"))).isEqualTo(new ModelRef("x", "3"));
        assertThat(modelOf(table, new ModelRef("found", "3"))).isEqualTo(new ModelRef("found", "3"));
    }

    @Test
    void unchangedName_isTheSameObject() {
        ModelRef requested = new ModelRef("m", "2");
        assertThat(tables.route(Model.on("u")).targets(requested).getFirst().model())
                .isSameAs(requested);
    }

    @Test
    void fallback_isNamedAsTargetsAre() {
        Route route = tables.route(Model.on("u").label("stable", "3").fallback("local", "small", null));
        assertThat(route.fallback(new ModelRef("m", "stable")))
                .isEqualTo(new Target(new NamedUpstream("local"), new ModelRef("small", "3"), "fallback"));
        assertThat(tables.route(Model.on("u")).fallback(Tables.M)).isNull();
    }

    @Test
    void shadows_areNamedAsTargetsAre() {
        Route route = tables.route(Model.on("u").shadow("next", "m2").shadow("other", null));
        assertThat(route.shadows(Tables.M))
                .containsExactly(
                        new Target(new NamedUpstream("next"), ModelRef.of("m2"), "next"),
                        new Target(new NamedUpstream("other"), Tables.M, "other"));
        assertThat(tables.route(Model.on("u")).shadows(Tables.M)).isEmpty();
    }
}

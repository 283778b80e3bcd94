package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RoutingTableTest {
    private final Tables tables = new Tables();

    private static String upstreamOf(RoutingTable table, String model) {
        ModelRef requested = ModelRef.of(model);
        return table.route(requested)
                .pick(requested, RequestAttributes.NONE, null)
                .target()
                .upstream()
                .name();
    }

    @ParameterizedTest
    @CsvSource({
        "exact,  on-exact,      exact",
        "other,  on-alias,      aliased",
        "found,  on-discovered, discovered",
        "f-llm,  on-pattern,    f-*",
        "fun,    on-shorter,    fu*",
        "none,   on-default,    default"
    })
    void name_findsTheNearestRoute(String model, String upstream, String key) {
        RoutingTable table = tables.withDefault("on-default")
                .discover("exact", "on-discovered")
                .discover("other", "on-discovered")
                .discover("found", "on-discovered")
                .discover("f-llm", "on-discovered")
                .table(Map.of(
                        "exact", Model.on("on-exact"),
                        "aliased", Model.on("on-alias").alias("other").alias("exact"),
                        "fu*", Model.on("on-shorter"),
                        "f-*", Model.on("on-pattern")));

        assertThat(upstreamOf(table, model)).isEqualTo(upstream);
        assertThat(table.route(ModelRef.of(model)).key()).isEqualTo(key);
    }

    @Test
    void alias_ofTwoModels_isTheFirstOnes() {
        RoutingTable table = tables.table(
                Map.of("a", Model.on("on-a").alias("x"), "b", Model.on("on-b").alias("x")));
        assertThat(upstreamOf(table, "x")).isEqualTo("on-a");
    }

    @Test
    void patterns_ofEqualLength_goByTheAlphabet() {
        RoutingTable table = tables.table(Map.of("*b", Model.on("second"), "*a*", Model.on("first")));
        assertThat(upstreamOf(table, "ab")).isEqualTo("first");
        assertThat(upstreamOf(table, "xb")).isEqualTo("second");
    }

    @Test
    void pattern_requestedAgain_givesTheSame() {
        RoutingTable table = tables.table(Map.of("llm-*", Model.on("a"), "*", Model.on("b")));
        for (int i = 0; i < 3; i++) {
            assertThat(upstreamOf(table, "llm-7b")).isEqualTo("a");
            assertThat(upstreamOf(table, "other")).isEqualTo("b");
        }
    }

    @Test
    void discovery_changesWhileTheTableServes() {
        RoutingTable table = tables.withDefault("default").table(Map.of());
        assertThat(upstreamOf(table, "new")).isEqualTo("default");
        tables.discover("new", "found");
        assertThat(upstreamOf(table, "new")).isEqualTo("found");
        tables.forget("new");
        assertThat(upstreamOf(table, "new")).isEqualTo("default");
    }

    @Test
    void discovery_takesNothingFromAPattern() {
        RoutingTable table = tables.discover("vers-1", "found").table(Map.of("vers*", Model.on("pattern")));
        assertThat(upstreamOf(table, "vers-1")).isEqualTo("pattern");
        assertThat(table.route(ModelRef.of("vers-1")).key()).isEqualTo("vers*");
    }

    @Test
    void unknownModel_isNotFound() {
        RoutingTable table = tables.table(Map.of("m", Model.on("a"), "llm-*", Model.on("a")));
        assertThatThrownBy(() -> table.route(ModelRef.of("llm")))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND))
                .hasMessage("unknown model 'llm'");
    }

    @Test
    void unknownModel_withAnEndlessName_isReportedInShort() {
        RoutingTable table = tables.table(Map.of("m*", Model.on("a")));
        assertThatThrownBy(() -> table.route(ModelRef.of("😀".repeat(32_000))))
                .hasMessage("unknown model '" + "😀".repeat(64) + "...'");
    }

    @Test
    void longNames_matchPatternsAsShortOnesDo() {
        RoutingTable table = tables.table(Map.of("m*x", Model.on("a"), "*", Model.on("b")));
        assertThat(upstreamOf(table, "m" + "a".repeat(65_000) + "x")).isEqualTo("a");
        assertThat(upstreamOf(table, "m" + "a".repeat(65_000))).isEqualTo("b");
    }

    @Test
    void exactName_asksForNothingElse() {
        RoutingTable table = new RoutingTable(
                Map.of("m", Model.on("a").config(), "*", Model.on("b").config()),
                NamedUpstream::new,
                null,
                () -> {
                    throw new AssertionError("discovery was called");
                },
                SelectionState.of(() -> 0));
        assertThat(upstreamOf(table, "m")).isEqualTo("a");
    }

    @Test
    void upstreamThatIsNotThere_isRefused() {
        assertThatThrownBy(() -> new RoutingTable(
                        Map.of("m", Model.on("a").config()),
                        name -> {
                            throw new IllegalArgumentException("no upstream is named '" + name + "'");
                        },
                        null,
                        Map::of,
                        SelectionState.of(() -> 0)))
                .hasMessage("no upstream is named 'a'");
    }

    @Test
    void server_isTheDefaultUpstream() {
        RoutingTable table = tables.withDefault("d").table(Map.of());
        assertThat(table.defaultUpstream()).contains(new NamedUpstream("d"));
    }

    @Test
    void server_withoutADefaultUpstream_isNone() {
        RoutingTable table = tables.table(Map.of("m", Model.on("a")));
        assertThat(table.defaultUpstream()).isEmpty();
    }

    @Test
    void routes_areThoseOfTheConfiguration() {
        RoutingTable table = tables.withDefault("d")
                .table(Map.of("b", Model.on("x"), "a*", Model.on("y").alias("z")));
        assertThat(table.routes()).extracting(Route::key).containsExactly("a*", "b");
    }

    @Test
    void upstreamsOfARoute_areThoseOfItsTargetsAndFallback_eachOnce() {
        Model model = new Model()
                .target("a", "one", null, null, 1)
                .target("b", "two", "m2", null, 0)
                .target("c", "one", "m3", null, 1)
                .fallback("last", null, null)
                .shadow("copied", null);
        assertThat(tables.route(model).upstreams())
                .containsExactly(new NamedUpstream("one"), new NamedUpstream("two"), new NamedUpstream("last"));
    }
}

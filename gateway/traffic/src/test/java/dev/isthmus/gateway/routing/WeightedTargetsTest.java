package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;
import static org.assertj.core.api.Assertions.within;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WeightedTargetsTest {
    private static final int PICKS = 100_000;
    private final Tables tables = new Tables();

    private static Map<String, Integer> picks(Route route) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < PICKS; i++) {
            counts.merge(
                    route.pick(Tables.M, RequestAttributes.NONE, null).target().arm(), 1, Integer::sum);
        }
        return counts;
    }

    @Test
    void weights_areKeptWithinHalfAPoint() {
        Map<String, Integer> counts = picks(tables.route(Model.split(10, 90)));
        assertThat(counts.get("canary")).isCloseTo(10_000, within(500));
    }

    @Test
    void leastAndGreatestHash_areOfArmsWithAShare() {
        WeightedTargets split = tables.route(
                        new Model().arm("a", 0).arm("b", 1).arm("c", 1).arm("d", 0))
                .split();
        for (int i = 1; i < 100; i++) {
            split.override("b", i / 100.0);
            assertThat(split.at(0, null).name()).isEqualTo("b");
            assertThat(split.at(-1, null).name()).isEqualTo("c");
        }
    }

    @Test
    void weights_ofManyArms_areKeptWithinHalfAPoint() {
        Model model = new Model().arm("a", 1).arm("b", 2).arm("c", 0).arm("d", 7);
        Map<String, Integer> counts = picks(tables.route(model));
        assertThat(counts).doesNotContainKey("c");
        assertThat(counts.get("a")).isCloseTo(10_000, within(500));
        assertThat(counts.get("b")).isCloseTo(20_000, within(500));
        assertThat(counts.get("d")).isCloseTo(70_000, within(500));
    }

    @Test
    void override_givesTheShare_andTheOthersKeepTheirProportions() {
        Route route = tables.route(new Model().arm("a", 30).arm("b", 60).arm("c", 10));
        route.split().override("c", 0.4);
        assertThat(route.split().share("a")).isCloseTo(0.2, within(1e-9));
        assertThat(route.split().share("b")).isCloseTo(0.4, within(1e-9));
        assertThat(route.split().share("c")).isCloseTo(0.4, within(1e-9));
        Map<String, Integer> counts = picks(route);
        assertThat(counts.get("a")).isCloseTo(20_000, within(500));
        assertThat(counts.get("b")).isCloseTo(40_000, within(500));
    }

    @Test
    void override_replacesTheEarlierOne() {
        WeightedTargets split = tables.route(Model.split(10, 90)).split();
        split.override("canary", 0.5);
        split.override("stable", 0.7);
        assertThat(split.share("stable")).isCloseTo(0.7, within(1e-9));
        assertThat(split.share("canary")).isCloseTo(0.3, within(1e-9));
    }

    @Test
    void override_toNothing_takesTheArmOut() {
        Route route = tables.route(Model.split(10, 90));
        route.split().override("canary", 0);
        assertThat(picks(route)).containsOnly(entry("stable", PICKS));
    }

    @Test
    void override_toAll_takesTheOthersOut() {
        Route route = tables.route(Model.split(10, 90));
        route.split().override("canary", 1);
        assertThat(picks(route)).containsOnly(entry("canary", PICKS));
        route.split().override("stable", 1);
        assertThat(picks(route)).containsOnly(entry("stable", PICKS));
    }

    @Test
    void override_whereTheOthersHaveNoWeight_givesThemTheRestInEqualParts() {
        WeightedTargets split =
                tables.route(new Model().arm("a", 0).arm("b", 0).arm("c", 1)).split();
        split.override("c", 0.5);
        assertThat(split.names())
                .containsExactly("a", "b", "c")
                .extracting(split::share)
                .containsExactly(0.25, 0.25, 0.5);
    }

    @Test
    void override_ofAnOnlyArm_changesNothing() {
        Route route = tables.route(Model.on("u"));
        route.split().override("u", 0);
        assertThat(route.split().share("u")).isEqualTo(1);
        assertThat(picks(route)).containsOnly(entry("u", PICKS));
    }

    @Test
    void override_ofNoArm_isRefused() {
        WeightedTargets split = tables.route(Model.split(10, 90)).split();
        assertThatThrownBy(() -> split.override("x", 0.5))
                .hasMessage("unknown target 'x', expected one of [canary, stable]");
    }

    @Test
    void override_withNoShare_isRefused() {
        WeightedTargets split = tables.route(Model.split(10, 90)).split();
        assertThatThrownBy(() -> split.override("canary", 1.1)).hasMessage("share must be from 0 to 1, got 1.1");
        assertThatThrownBy(() -> split.override("canary", Double.NaN)).hasMessageContaining("NaN");
    }

    @Test
    void arms_withoutAnyWeight_areEqual() {
        WeightedTargets split = tables.route(Model.split(0, 0)).split();
        assertThat(split.names())
                .containsExactly("canary", "stable")
                .extracting(split::share)
                .containsExactly(0.5, 0.5);
    }

    @Test
    void arms_ofOneName_areRefused() {
        assertThatThrownBy(() -> tables.route(new Model().arm("a", 1).arm("a", 2)))
                .hasMessage("targets must have distinct names, got [a, a]");
    }

    @Test
    void model_withoutTargets_isRefused() {
        assertThatThrownBy(() -> tables.route(new Model())).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void greatestWeights_doNotOverflow() {
        Model model = new Model();
        for (int i = 0; i < 3_000; i++) {
            model.arm("a" + i, 1_000_000);
        }
        assertThat(tables.route(model).split().share("a0")).isCloseTo(1 / 3_000.0, within(1e-9));
    }
}

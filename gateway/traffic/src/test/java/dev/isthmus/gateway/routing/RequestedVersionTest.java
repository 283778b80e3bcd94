package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.routing.Route.StreamSelections;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A request that names a version is served by that version or rejected. */
class RequestedVersionTest {
    private static final RequestAttributes CANARY = Tables.header("x-canary", "yes");
    private final Tables tables = new Tables();

    private static Model versions() {
        return new Model()
                .target("canary", "b", null, "4", 0)
                .target("stable", "a", null, "3", 100)
                .label("next", "4")
                .rule(Map.of("x-canary", "yes"), Map.of(), "canary");
    }

    private static Target target(Route route, String version, RequestAttributes attributes) {
        return route.pick(new ModelRef("m", version), attributes, null).target();
    }

    private static String arm(Route route, String version) {
        return target(route, version, RequestAttributes.NONE).arm();
    }

    @Test
    void namedVersion_ofTargetsWithoutShares_isServedByEachOfThem() {
        Route route = tables.route(new Model()
                .target("one", "b", null, "4", 0)
                .target("other", "c", null, "4", 0)
                .target("stable", "a", null, "3", 100));
        assertThat(IntStream.range(0, 200).mapToObj(i -> arm(route, "4"))).contains("one", "other");
    }

    @Test
    void namedVersion_isServedByItsTarget_whateverTheWeights() {
        Route route = tables.route(versions());
        for (int i = 0; i < 100; i++) {
            assertThat(arm(route, "3")).isEqualTo("stable");
            assertThat(arm(route, "4")).isEqualTo("canary");
            assertThat(arm(route, "")).isEqualTo("stable");
        }
        assertThat(target(route, "4", RequestAttributes.NONE).model()).isEqualTo(new ModelRef("m", "4"));
    }

    @Test
    void versionThatNoTargetHas_isNotFound() {
        Route route = tables.route(versions());
        assertThatThrownBy(() -> arm(route, "5"))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NOT_FOUND))
                .hasMessage("model 'm' has no version '5', expected one of [3, 4]");
        assertThatThrownBy(() -> route.targets(new ModelRef("m", "5"))).hasMessageContaining("no version '5'");
    }

    @Test
    void versionThatNoTargetHas_goesToTargetsWithoutOne() {
        Route route = tables.route(new Model().target("any", "a", null, null, 1).target("canary", "b", null, "4", 99));
        for (int i = 0; i < 100; i++) {
            assertThat(target(route, "5", RequestAttributes.NONE).model().version())
                    .isEqualTo("5");
            assertThat(arm(route, "5")).isEqualTo("any");
            assertThat(arm(route, "4")).isEqualTo("canary");
        }
    }

    @Test
    void rule_doesNotChangeTheVersion() {
        Route route = tables.route(versions());
        assertThat(target(route, "", CANARY).arm()).isEqualTo("canary");
        assertThat(target(route, "4", CANARY).arm()).isEqualTo("canary");
        assertThat(target(route, "3", CANARY).arm()).isEqualTo("stable");
    }

    @Test
    void ruleForATargetWithoutAVersion_appliesToEveryVersion() {
        Route route = tables.route(new Model()
                .target("any", "a", null, null, 0)
                .target("canary", "b", null, "4", 1)
                .rule(Map.of("x-canary", "yes"), Map.of(), "any"));
        assertThat(target(route, "4", CANARY)).satisfies(picked -> {
            assertThat(picked.arm()).isEqualTo("any");
            assertThat(picked.model().version()).isEqualTo("4");
        });
    }

    @Test
    void shares_areThoseAmongTheTargetsOfTheVersion() {
        Route route = tables.route(new Model()
                .target("a", "a", null, "3", 10)
                .target("b", "b", null, "3", 30)
                .target("c", "c", null, "4", 60)
                .target("d", "d", null, "5", 0));
        assertThat(shares(route, "")).isEqualTo(Map.of("a", 0.1, "b", 0.3, "c", 0.6, "d", 0.0));
        assertThat(shares(route, "3")).isEqualTo(Map.of("a", 0.25, "b", 0.75, "c", 0.0, "d", 0.0));
        assertThat(shares(route, "5")).isEqualTo(Map.of("a", 0.0, "b", 0.0, "c", 0.0, "d", 1.0));
    }

    /** Rounded to thousandths. */
    private static Map<String, Double> shares(Route route, String version) {
        return route.decide(new ModelRef("m", version), RequestAttributes.NONE).targets().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, each -> Math.round(each.getValue().share() * 1000) / 1000.0));
    }

    @Test
    void label_selectsItsVersion() {
        Route route = tables.route(versions().label("gone", "2"));
        for (int i = 0; i < 100; i++) {
            assertThat(target(route, "next", RequestAttributes.NONE).model()).isEqualTo(new ModelRef("m", "4"));
        }
        assertThat(route.targets(new ModelRef("m", "next")))
                .extracting(Target::arm)
                .containsExactly("canary");
        assertThatThrownBy(() -> arm(route, "gone")).hasMessage("model 'm' has no version '2', expected one of [3, 4]");
        assertThat(arm(tables.route(versions().overridesVersions()), "next")).isEqualTo("stable");
    }

    @Test
    void override_leavesTheVersionToTheTargets() {
        Route route = tables.route(versions().overridesVersions());
        assertThat(target(route, "4", RequestAttributes.NONE).model().version()).isEqualTo("3");
        assertThat(target(route, "5", CANARY).model().version()).isEqualTo("4");
        assertThat(route.targets(new ModelRef("m", "5"))).hasSize(2);
    }

    @Test
    void stickyKeys_areSplitAmongTheTargetsOfAVersion() {
        Route route = tables.route(new Model()
                .target("a", "a", null, "3", 10)
                .target("b", "b", null, "3", 30)
                .target("c", "c", null, "4", 60)
                .stickyHeader("x-user"));
        Map<String, Long> counts = IntStream.range(0, 4_000)
                .mapToObj(i ->
                        target(route, "3", Tables.header("x-user", "user-" + i)).arm())
                .collect(Collectors.groupingBy(arm -> arm, Collectors.counting()));
        assertThat(counts).containsOnlyKeys("a", "b");
        assertThat(counts.get("a")).isBetween(900L, 1_100L);
    }

    @Test
    void sequence_staysWithTheVersionThatItNames() {
        Route route = tables.route(versions());
        RequestAttributes start = sequence("sequence_start");
        assertThat(target(route, "4", start).arm()).isEqualTo("canary");
        assertThat(target(route, "3", start).arm()).isEqualTo("stable");
        assertThat(target(route, "4", sequence("sequence_end")).arm()).isEqualTo("canary");
    }

    private static RequestAttributes sequence(String flag) {
        return new RequestAttributes(
                HeaderFields.NONE, Map.of("sequence_id", new Parameter.Int64(7), flag, new Parameter.Bool(true)), "");
    }

    @Test
    void stream_keepsATargetForEachVersion() {
        Route route = tables.route(versions());
        StreamSelections stream = new StreamSelections();
        for (String version : new String[] {"", "4", "3", "4", ""}) {
            String wanted = version.equals("4") ? "canary" : "stable";
            assertThat(route.pick(new ModelRef("m", version), RequestAttributes.NONE, stream)
                            .target()
                            .arm())
                    .isEqualTo(wanted);
        }
    }

    @Test
    void fallback_ofAnotherVersion_doesNotTakeOver() {
        Route route = tables.route(Model.on("u").fallback("v", null, "1"));
        assertThat(route.fallback(new ModelRef("m", "2"))).isNull();
        assertThat(route.fallback(new ModelRef("m", "1"))).isNotNull();
        assertThat(route.fallback(new ModelRef("m", ""))).isNotNull();
    }

    @Test
    void targets_areThoseOfTheVersion() {
        Route route = tables.route(versions());
        assertThat(route.targets(new ModelRef("m", "4")))
                .extracting(Target::arm)
                .containsExactly("canary");
    }

    @Test
    void decision_isWhatTheRoutePicks() {
        Model model = versions().stickyHeader("x-user").target("third", "c", null, "5", 50);
        Route route = tables.route(model);
        for (String version : List.of("", "4")) {
            for (int i = 0; i < 1_000; i++) {
                RequestAttributes attributes = Tables.header("x-user", "user-" + i);
                assertThat(route.decide(new ModelRef("m", version), attributes).hashed())
                        .isEqualTo(target(route, version, attributes).arm());
            }
        }
    }
}

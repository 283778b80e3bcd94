package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.Parameter;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class RoutingRuleTest {
    private final Tables tables = new Tables();

    private static Model onlyByRule() {
        return Model.split(0, 100);
    }

    private static String arm(Route route, RequestAttributes attributes) {
        return route.pick(Tables.M, attributes, null).target().arm();
    }

    @ParameterizedTest
    @CsvSource({
        "yes,   yes,   canary",
        "yes,   no,    stable",
        "yes,   YES,   stable",
        "yes,   yess,  stable",
        "gold*, gold,  canary",
        "gold*, gold1, canary",
        "gold*, go,    stable",
        "*,     '',    canary",
        "*,     any,   canary",
        "'',    '',    canary",
        "'',    x,     stable",
        "a*b,   axb,   stable",
        "a*b,   a*b,   canary"
    })
    void value_isExactABeginningOrAny(String pattern, String value, String arm) {
        Route route = tables.route(onlyByRule().rule(Map.of("X-Canary", pattern), Map.of(), "canary"));
        assertThat(arm(route, Tables.header("x-canary", value))).isEqualTo(arm);
    }

    @Test
    void header_thatIsMissing_matchesNothing() {
        Route route = tables.route(onlyByRule().rule(Map.of("x-canary", "*"), Map.of(), "canary"));
        assertThat(arm(route, RequestAttributes.NONE)).isEqualTo("stable");
    }

    static Stream<Arguments> parameters() {
        return Stream.of(
                Arguments.of(new Parameter.Text("gold"), "gold"),
                Arguments.of(new Parameter.Bool(true), "true"),
                Arguments.of(new Parameter.Int64(-3), "-3"),
                Arguments.of(new Parameter.Uint64(-1), "18446744073709551615"),
                Arguments.of(new Parameter.Float64(0.5), "0.5"),
                Arguments.of(new Parameter.Float64(2), "2"),
                Arguments.of(new Parameter.Float64(1e300), "1.0E300"));
    }

    @ParameterizedTest
    @MethodSource("parameters")
    void parameter_isComparedAsText(Parameter value, String text) {
        Route route = tables.route(onlyByRule().rule(Map.of(), Map.of("tier", text), "canary"));
        assertThat(arm(route, Tables.parameter("tier", value))).isEqualTo("canary");
        assertThat(arm(route, Tables.parameter("tier", new Parameter.Text("x" + text))))
                .isEqualTo("stable");
    }

    @Test
    void parameterOutsideTheProtocol_matchesNothing() {
        Route route = tables.route(onlyByRule().rule(Map.of(), Map.of("tier", "*"), "canary"));
        assertThat(arm(route, Tables.parameter("tier", new Parameter.Json("[1]"))))
                .isEqualTo("stable");
    }

    @Test
    void values_mustAllMatch() {
        Route route = tables.route(onlyByRule().rule(Map.of("a", "1", "b", "2"), Map.of("c", "3"), "canary"));
        Map<String, Parameter> c = Map.of("c", new Parameter.Int64(3));
        assertThat(arm(route, new RequestAttributes(Map.of("a", "1", "b", "2")::get, c, "")))
                .isEqualTo("canary");
        assertThat(arm(route, new RequestAttributes(Map.of("a", "1")::get, c, "")))
                .isEqualTo("stable");
        assertThat(arm(route, new RequestAttributes(Map.of("a", "1", "b", "2")::get, Map.of(), "")))
                .isEqualTo("stable");
    }

    @Test
    void firstRuleThatMatches_counts() {
        Model model = new Model()
                .arm("a", 0)
                .arm("b", 0)
                .arm("c", 1)
                .rule(Map.of("x", "1*"), Map.of(), "a")
                .rule(Map.of("x", "*"), Map.of(), "b");
        Route route = tables.route(model);
        assertThat(List.of("12", "2"))
                .extracting(value -> arm(route, Tables.header("x", value)))
                .containsExactly("a", "b");
    }

    @Test
    void rule_comesBeforeTheStickyKey_whichStillChoosesTheServer() {
        Model model =
                onlyByRule().rule(Map.of("x-canary", "yes"), Map.of(), "canary").stickyHeader("x-user");
        Route route = tables.route(model);
        RequestAttributes ruled =
                new RequestAttributes(Map.of("x-canary", "yes", "x-user", "alice")::get, Map.of(), "");
        Route.TargetSelection pick = route.pick(Tables.M, ruled, null);
        assertThat(pick.target().arm()).isEqualTo("canary");
        assertThat(pick.affinity())
                .isNotEqualTo(Call.NO_AFFINITY)
                .isEqualTo(route.pick(Tables.M, Tables.header("x-user", "alice"), null)
                        .affinity());
    }

    @Test
    void rule_forNoTarget_isRefused() {
        assertThatThrownBy(() -> tables.route(onlyByRule().rule(Map.of("x", "1"), Map.of(), "nobody")))
                .hasMessage("unknown target 'nobody' in a rule, expected one of [canary, stable]");
    }
}

package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class StickyTest {
    private static final int USERS = 20_000;
    private final Tables tables = new Tables();

    /** One per user, in order. */
    private static List<Route.TargetSelection> picks(Route route) {
        return IntStream.range(0, USERS)
                .mapToObj(i -> route.pick(Tables.M, Tables.header("x-user", "user-" + i), null))
                .toList();
    }

    private static boolean onCanary(Route.TargetSelection pick) {
        return pick.target().arm().equals("canary");
    }

    private static long moved(List<Route.TargetSelection> before, List<Route.TargetSelection> after) {
        return IntStream.range(0, USERS)
                .filter(i -> onCanary(before.get(i)) != onCanary(after.get(i)))
                .count();
    }

    @Test
    void key_isOnTheSameArmAndServer_inEveryGateway() {
        Route here = new Tables().route(Model.split(10, 90).stickyHeader("X-User"));
        Route there =
                new Tables().route(new Model().arm("stable", 9).arm("canary", 1).stickyHeader("x-user"));
        assertThat(picks(here)).isEqualTo(picks(there));
    }

    @Test
    void keys_areSplitByTheWeights() {
        long canary = picks(tables.route(Model.split(10, 90).stickyHeader("x-user"))).stream()
                .filter(StickyTest::onCanary)
                .count();
        assertThat(canary).isCloseTo(USERS / 10, within(USERS / 200L));
    }

    @Test
    void changedWeights_moveNoMoreKeysThanTheyMust() {
        List<Route.TargetSelection> before =
                picks(tables.route(Model.split(10, 90).stickyHeader("x-user")));
        List<Route.TargetSelection> after =
                picks(tables.route(Model.split(20, 80).stickyHeader("x-user")));
        assertThat(moved(before, after)).isCloseTo(USERS / 10, within(USERS / 200L));
        assertThat(after.stream().filter(StickyTest::onCanary))
                .containsAll(before.stream().filter(StickyTest::onCanary).toList());
    }

    @Test
    void override_movesNoMoreKeysThanItMust() {
        Route route = tables.route(Model.split(10, 90).stickyHeader("x-user"));
        List<Route.TargetSelection> before = picks(route);
        route.split().override("canary", 0.2);
        assertThat(moved(before, picks(route))).isCloseTo(USERS / 10, within(USERS / 200L));
    }

    @Test
    void routes_areIndependent() {
        RoutingTable table = tables.table(Map.of(
                "m", Model.split(50, 50).stickyHeader("x-user"),
                "n", Model.split(50, 50).stickyHeader("x-user")));
        List<Route.TargetSelection> m = picks(table.route(Tables.M));
        List<Route.TargetSelection> n = picks(table.route(ModelRef.of("n")));
        assertThat(moved(m, n)).isCloseTo(USERS / 2, within(USERS / 50L));
    }

    @Test
    void keysOfOneArm_haveAffinitiesFromTheWholeRange() {
        Route route = tables.route(Model.split(10, 90).stickyHeader("x-user"));
        Set<Integer> parts = new HashSet<>();
        picks(route).stream()
                .filter(StickyTest::onCanary)
                .forEach(pick -> parts.add((int) (StickyHash.unit(pick.affinity()) * 16)));
        assertThat(parts).hasSize(16);
    }

    @Test
    void parameter_isAKeyByItsText() {
        Route route = tables.route(Model.split(50, 50).stickyParameter("user"));
        Route.TargetSelection text = route.pick(Tables.M, Tables.parameter("user", new Parameter.Text("12")), null);
        assertThat(route.pick(Tables.M, Tables.parameter("user", new Parameter.Int64(12)), null))
                .isEqualTo(text);
        assertThat(text.sequenceNanos()).isEqualTo(Call.NO_SEQUENCE);
    }

    @Test
    void requestsWithoutAKey_goByChance() {
        Route route = tables.route(Model.split(50, 50).stickyHeader("x-user"));
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            Route.TargetSelection pick =
                    route.pick(Tables.M, i % 2 == 0 ? RequestAttributes.NONE : Tables.header("x-user", ""), null);
            assertThat(pick.affinity()).isEqualTo(Call.NO_AFFINITY);
            arms.add(pick.target().arm());
        }
        assertThat(arms).containsExactlyInAnyOrder("canary", "stable");
    }
}

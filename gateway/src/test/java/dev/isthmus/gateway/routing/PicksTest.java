package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ModelRef;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PicksTest {
    private final Tables tables = new Tables();

    private static String arm(Route route, Picks stream, Attributes attributes) {
        return route.pick(Tables.M, attributes, stream).target().arm();
    }

    private static Target target(RoutingTable table, ModelRef asked) {
        return table.route(asked).pick(asked, Attributes.NONE).target();
    }

    @Test
    void stream_keepsItsArm() {
        Route route = tables.route(Model.split(50, 50));
        Picks stream = new Picks();
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            arms.add(arm(route, stream, Attributes.NONE));
        }
        assertThat(arms).hasSize(1);
    }

    @Test
    void streams_areSplitByTheWeights() {
        Route route = tables.route(Model.split(50, 50));
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            arms.add(arm(route, new Picks(), Attributes.NONE));
        }
        assertThat(arms).hasSize(2);
    }

    @Test
    void stream_keepsAnArmOfEachRoute() {
        RoutingTable table = tables.table(Map.of("m", Model.split(100, 0), "n", Model.split(0, 100)));
        Picks stream = new Picks();
        ModelRef n = ModelRef.of("n");
        assertThat(arm(table.route(Tables.M), stream, Attributes.NONE)).isEqualTo("canary");
        assertThat(table.route(n).pick(n, Attributes.NONE, stream).target().arm())
                .isEqualTo("stable");
    }

    @Test
    void stream_leavesAnArmThatWasTakenOut() {
        Route route = tables.route(Model.split(100, 0));
        Picks stream = new Picks();
        assertThat(arm(route, stream, Attributes.NONE)).isEqualTo("canary");
        route.split().override("canary", 0.01);
        assertThat(arm(route, stream, Attributes.NONE)).isEqualTo("canary");
        route.split().override("canary", 0);
        assertThat(arm(route, stream, Attributes.NONE)).isEqualTo("stable");
    }

    @Test
    void stickyKey_comesBeforeTheStreamsArm() {
        Route route = tables.route(Model.split(50, 50).stickyHeader("x-user"));
        Picks stream = new Picks();
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            Pick pick = route.pick(Tables.M, Tables.header("x-user", "user-" + i), stream);
            assertThat(pick.affinity()).isNotEqualTo(Call.NO_AFFINITY);
            arms.add(pick.target().arm());
        }
        assertThat(arms).hasSize(2);
    }

    @Test
    void onlyArm_needsNoMemory() {
        Route route = tables.route(Model.on("u"));
        assertThat(arm(route, new Picks(), Attributes.NONE)).isEqualTo("u");
    }

    @Test
    void targets_ofOnePlace_areEqual() {
        RoutingTable table = tables.table(Map.of("m", Model.on("u")));
        assertThat(target(table, new ModelRef("m", "1"))).isEqualTo(target(table, new ModelRef("m", "1")));
        assertThat(target(table, new ModelRef("m", "1"))).isNotEqualTo(target(table, new ModelRef("m", "2")));
    }
}

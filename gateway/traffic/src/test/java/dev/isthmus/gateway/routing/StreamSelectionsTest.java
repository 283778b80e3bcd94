package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.routing.Route.StreamSelections;
import dev.isthmus.oip.ModelRef;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StreamSelectionsTest {
    private final Tables tables = new Tables();

    private static String arm(Route route, StreamSelections stream, RequestAttributes attributes) {
        return route.pick(Tables.M, attributes, stream).target().arm();
    }

    private static Target target(RoutingTable table, ModelRef requested) {
        return table.route(requested)
                .pick(requested, RequestAttributes.NONE, null)
                .target();
    }

    @Test
    void stream_keepsItsArm() {
        Route route = tables.route(Model.split(50, 50));
        StreamSelections stream = new StreamSelections();
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            arms.add(arm(route, stream, RequestAttributes.NONE));
        }
        assertThat(arms).hasSize(1);
    }

    @Test
    void streams_areSplitByTheWeights() {
        Route route = tables.route(Model.split(50, 50));
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            arms.add(arm(route, new StreamSelections(), RequestAttributes.NONE));
        }
        assertThat(arms).hasSize(2);
    }

    @Test
    void stream_keepsAnArmOfEachRoute() {
        RoutingTable table = tables.table(Map.of("m", Model.split(100, 0), "n", Model.split(0, 100)));
        StreamSelections stream = new StreamSelections();
        ModelRef n = ModelRef.of("n");
        assertThat(arm(table.route(Tables.M), stream, RequestAttributes.NONE)).isEqualTo("canary");
        assertThat(table.route(n)
                        .pick(n, RequestAttributes.NONE, stream)
                        .target()
                        .arm())
                .isEqualTo("stable");
    }

    @Test
    void stream_leavesAnArmThatWasTakenOut() {
        Route route = tables.route(Model.split(100, 0));
        StreamSelections stream = new StreamSelections();
        assertThat(arm(route, stream, RequestAttributes.NONE)).isEqualTo("canary");
        route.split().override("canary", 0.01);
        assertThat(arm(route, stream, RequestAttributes.NONE)).isEqualTo("canary");
        route.split().override("canary", 0);
        assertThat(arm(route, stream, RequestAttributes.NONE)).isEqualTo("stable");
    }

    @Test
    void stickyKey_comesBeforeTheStreamsArm() {
        Route route = tables.route(Model.split(50, 50).stickyHeader("x-user"));
        StreamSelections stream = new StreamSelections();
        Set<String> arms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            Route.TargetSelection pick = route.pick(Tables.M, Tables.header("x-user", "user-" + i), stream);
            assertThat(pick.affinity()).isNotEqualTo(Call.NO_AFFINITY);
            arms.add(pick.target().arm());
        }
        assertThat(arms).hasSize(2);
    }

    @Test
    void onlyArm_needsNoMemory() {
        Route route = tables.route(Model.on("u"));
        assertThat(arm(route, new StreamSelections(), RequestAttributes.NONE)).isEqualTo("u");
    }

    @Test
    void targets_ofOnePlace_areEqual() {
        RoutingTable table = tables.table(Map.of("m", Model.on("u")));
        assertThat(target(table, new ModelRef("m", "1"))).isEqualTo(target(table, new ModelRef("m", "1")));
        assertThat(target(table, new ModelRef("m", "1"))).isNotEqualTo(target(table, new ModelRef("m", "2")));
    }

    /** Otherwise it would keep a choice for each version that a client makes up. */
    @Test
    void stream_keepsItsArm_whicheverVersionsAreNamed() {
        Route route = tables.route(Model.split(50, 50).target("pinned", "pinned", null, "4", 0));
        StreamSelections stream = new StreamSelections();
        Set<String> arms = new HashSet<>();
        for (int i = 100; i < 200; i++) {
            ModelRef requested = new ModelRef("m", Integer.toString(i));
            arms.add(route.pick(requested, RequestAttributes.NONE, stream)
                    .target()
                    .arm());
        }
        assertThat(arms).hasSize(1).doesNotContain("pinned");
        assertThat(route.pick(new ModelRef("m", "4"), RequestAttributes.NONE, stream)
                        .target()
                        .arm())
                .isEqualTo("pinned");
    }
}

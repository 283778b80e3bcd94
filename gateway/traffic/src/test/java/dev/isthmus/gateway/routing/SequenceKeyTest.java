package dev.isthmus.gateway.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SequenceKeyTest {
    private static final int SEQUENCES = 1_000;
    private final Tables tables = new Tables();

    private static RequestAttributes sequence(Parameter id, String... flags) {
        Map<String, Parameter> parameters = new HashMap<>(Map.of("sequence_id", id));
        for (String flag : flags) {
            parameters.put(flag, new Parameter.Bool(true));
        }
        return new RequestAttributes(HeaderFields.NONE, parameters, "");
    }

    private static RequestAttributes sequence(long id, String... flags) {
        return sequence(new Parameter.Int64(id), flags);
    }

    private static String arm(Route route, RequestAttributes attributes) {
        return route.pick(Tables.M, attributes, null).target().arm();
    }

    private static long onCanary(Route route, String... flags) {
        long count = 0;
        for (int id = 1; id <= SEQUENCES; id++) {
            count += arm(route, sequence(id, flags)).equals("canary") ? 1 : 0;
        }
        return count;
    }

    @Test
    void requests_ofASequence_belongOnOneServerOfOneArm() {
        Route route = tables.route(Model.split(50, 50));
        Route.TargetSelection first = route.pick(Tables.M, sequence(7, "sequence_start"), null);
        assertThat(first.sequenceNanos()).isNotIn(Call.NO_SEQUENCE, Call.EARLIER);
        assertThat(first.affinity()).isNotEqualTo(Call.NO_AFFINITY);
        assertThat(route.pick(Tables.M, sequence(7), null)).isEqualTo(first);
        assertThat(route.pick(Tables.M, sequence(7, "sequence_end"), null)).isEqualTo(first);
    }

    @Test
    void severalGateways_agree() {
        Route here = new Tables().route(Model.split(50, 50));
        Route there = new Tables().route(Model.split(50, 50));
        for (int id = 1; id <= SEQUENCES; id++) {
            assertThat(here.pick(Tables.M, sequence(id), null)).isEqualTo(there.pick(Tables.M, sequence(id), null));
        }
    }

    static List<Parameter> noSequences() {
        return List.of(
                new Parameter.Int64(0),
                new Parameter.Uint64(0),
                new Parameter.Text(""),
                new Parameter.Bool(true),
                new Parameter.Float64(1.5));
    }

    @ParameterizedTest
    @MethodSource("noSequences")
    void id_thatNamesNone_isNoSequence(Parameter id) {
        Route.TargetSelection pick = tables.route(Model.split(50, 50)).pick(Tables.M, sequence(id), null);
        assertThat(pick.sequenceNanos()).isEqualTo(Call.NO_SEQUENCE);
        assertThat(pick.affinity()).isEqualTo(Call.NO_AFFINITY);
        assertThat(tables.pins().size()).isZero();
    }

    static List<Parameter> sequences() {
        return List.of(new Parameter.Int64(12), new Parameter.Uint64(-1), new Parameter.Text("chat-1"));
    }

    @ParameterizedTest
    @MethodSource("sequences")
    void id_isANumberOrText(Parameter id) {
        assertThat(tables.route(Model.split(50, 50))
                        .pick(Tables.M, sequence(id), null)
                        .sequenceNanos())
                .isEqualTo(Call.EARLIER);
    }

    /** Clients in C++ send ids of 2^63 and more as negative int64 over gRPC. */
    @Test
    void idOf64Bits_isOneSequence_howeverItIsSent() {
        Route route = tables.route(Model.split(50, 50));
        for (long id : new long[] {-1, -5, Long.MIN_VALUE, Long.MAX_VALUE}) {
            assertThat(route.pick(Tables.M, sequence(new Parameter.Uint64(id)), null))
                    .isEqualTo(route.pick(Tables.M, sequence(id), null));
        }
    }

    @Test
    void runningSequences_stay_whereSharesChange() {
        Route route = tables.route(Model.split(10, 90));
        long before = onCanary(route);
        assertThat(before).isCloseTo(SEQUENCES / 10, within(40L));
        route.split().override("canary", 1);
        assertThat(onCanary(route)).isEqualTo(before);
        route.split().override("canary", 0);
        assertThat(onCanary(route)).isEqualTo(before);
    }

    @Test
    void endedSequence_isForgotten() {
        Route route = tables.route(Model.split(0, 100));
        route.pick(Tables.M, sequence(7), null);
        assertThat(tables.pins().size()).isEqualTo(1);
        route.split().override("canary", 1);
        assertThat(arm(route, sequence(7, "sequence_end"))).isEqualTo("stable");
        assertThat(tables.pins().size()).isZero();
        assertThat(arm(route, sequence(7))).isEqualTo("canary");
    }

    @Test
    void sequenceThatStartsAgain_goesByTheSharesOfNow() {
        Route route = tables.route(Model.split(0, 100));
        route.pick(Tables.M, sequence(7), null);
        route.split().override("canary", 1);
        assertThat(arm(route, sequence(7, "sequence_start"))).isEqualTo("canary");
        route.split().override("canary", 0);
        assertThat(arm(route, sequence(7))).isEqualTo("canary");
    }

    @Test
    void sequenceOfOneRequest_isNotRemembered() {
        tables.route(Model.split(0, 100)).pick(Tables.M, sequence(7, "sequence_start", "sequence_end"), null);
        assertThat(tables.pins().size()).isZero();
    }

    @Test
    void runningSequences_stay_whereANewTableTakesOver() {
        long before = onCanary(tables.route(Model.split(10, 90)));
        assertThat(onCanary(tables.route(Model.split(100, 0)))).isEqualTo(before);
    }

    @Test
    void runningSequence_staysOnItsTarget_whateverTheNewTableCallsIt() {
        arm(tables.route(Model.on("triton")), sequence(7));
        Model next = new Model().target("canary", "mlserver", null, null, 100).target("old", "triton", "m", null, 0);
        assertThat(arm(tables.route(next), sequence(7))).isEqualTo("old");
    }

    @Test
    void runningSequence_whoseTargetIsGone_goesByItsHash() {
        arm(tables.route(Model.on("gone")), sequence(7));
        Route next = tables.route(Model.split(100, 0));
        assertThat(arm(next, sequence(7))).isEqualTo("canary");
        next.split().override("stable", 1);
        assertThat(arm(next, sequence(7))).isEqualTo("canary");
    }

    @Test
    void sameId_ofAnotherModel_isAnotherSequence() {
        RoutingTable table = tables.table(Map.of("*", Model.split(0, 100)));
        Route route = table.route(Tables.M);
        route.pick(Tables.M, sequence(7), null);
        route.split().override("canary", 1);
        assertThat(route.pick(ModelRef.of("n"), sequence(7), null).target().arm())
                .isEqualTo("canary");
        assertThat(arm(route, sequence(7))).isEqualTo("stable");
    }

    @Test
    void idleSequence_isForgottenAfterTenMinutes() {
        Route route = tables.route(Model.split(0, 100));
        arm(route, sequence(7));
        tables.pass(Duration.ofMinutes(9).toNanos());
        route.split().override("canary", 1);
        assertThat(arm(route, sequence(7))).isEqualTo("stable");
        tables.pass(Duration.ofMinutes(9).toNanos());
        assertThat(arm(route, sequence(7))).isEqualTo("stable");
        tables.pass(Duration.ofMinutes(11).toNanos());
        assertThat(arm(route, sequence(7))).isEqualTo("canary");
    }

    @Test
    void sequences_withoutNumber_areRememberedUpToABound() {
        Route route = tables.route(Model.split(50, 50));
        for (int id = 1; id <= 150_000; id++) {
            route.pick(Tables.M, sequence(id), null);
        }
        assertThat(tables.pins().size()).isLessThanOrEqualTo(100_000);
    }

    @Test
    void rule_choosesTheArm_andTheSequenceStaysThere() {
        Route route = tables.route(Model.split(0, 100).rule(Map.of("x-canary", "yes"), Map.of(), "canary"));
        RequestAttributes start = new RequestAttributes(
                Map.of("x-canary", "yes")::get, sequence(7, "sequence_start").parameters(), "");
        assertThat(arm(route, start)).isEqualTo("canary");
        assertThat(arm(route, sequence(7))).isEqualTo("canary");
    }

    @Test
    void sequence_comesBeforeTheStickyKey() {
        Route route = tables.route(Model.split(50, 50).stickyHeader("x-user"));
        Route.TargetSelection alone = route.pick(Tables.M, sequence(7), null);
        RequestAttributes both = new RequestAttributes(
                Map.of("x-user", "alice")::get, sequence(7).parameters(), "");
        assertThat(route.pick(Tables.M, both, null)).isEqualTo(alone);
    }

    @Test
    void sequence_ofTheDefaultUpstream_belongsOnOneServer() {
        RoutingTable table = tables.withDefault("d").table(Map.of());
        Route.TargetSelection pick = table.route(Tables.M).pick(Tables.M, sequence(7), null);
        assertThat(pick.affinity()).isNotEqualTo(Call.NO_AFFINITY);
        assertThat(pick.sequenceNanos()).isEqualTo(Call.EARLIER);
    }
}

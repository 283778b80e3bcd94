package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Servers that operators take out of service. */
class DrainedServersTest {
    private static final String DRAIN = "drained by alice: new driver";

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private long now = 1_000;
    private final ReplicaSet set = UncheckedReplicas.replicas(
            at -> new FakeUpstream(), meters, () -> now, endpoint(1), endpoint(2), endpoint(3));
    private final DrainedServers drained = set.resources().drained();

    private static Endpoint endpoint(int last) {
        return new Endpoint("10.0.0." + last, 8001);
    }

    @AfterEach
    void close() {
        set.close();
    }

    private String picked(Call call) {
        return Objects.requireNonNull(set.pick(call, ReplicaFixture.MODEL, List.of()))
                .label();
    }

    private Set<String> servers() {
        Set<String> servers = new TreeSet<>();
        for (int i = 0; i < 30; i++) {
            servers.add(picked(ReplicaFixture.call(Call.NO_AFFINITY)));
        }
        return servers;
    }

    @Test
    void drainedServer_getsNoCalls_untilItIsEnabled() {
        drained.change("10.0.0.2:8001", DRAIN);
        assertThat(servers()).containsExactly("10.0.0.1:8001", "10.0.0.3:8001");
        drained.change("10.0.0.1:8001", DRAIN);
        assertThat(servers()).as("not even if most are drained").containsExactly("10.0.0.3:8001");
        drained.change("10.0.0.2:8001", null);
        assertThat(servers()).containsExactly("10.0.0.2:8001", "10.0.0.3:8001");
    }

    @Test
    void allDrained_isNoServer() {
        for (int i = 1; i <= 3; i++) {
            drained.change(endpoint(i).authority(), DRAIN);
        }
        assertThat(set.pick(ReplicaFixture.call(7), ReplicaFixture.MODEL, List.of()))
                .isNull();
        assertThat(set.all()).isEmpty();
        assertThat(meters.get("isthmus.upstream.endpoints").gauge().value()).isEqualTo(3);
    }

    @Test
    void sequencesEndWhereTheyBegan_andNewOnesBeginElsewhere() {
        for (long affinity = 1; affinity <= 50; affinity++) {
            long began = now;
            Call running = ReplicaFixture.call(1).withAffinity(affinity, began);
            String home = picked(running);
            now++;
            drained.change(home, DRAIN);
            assertThat(picked(running)).isEqualTo(home);
            assertThat(picked(running.withAffinity(affinity, Call.EARLIER)))
                    .as("its begin was not seen")
                    .isEqualTo(home);
            String other = picked(running.withAffinity(affinity, now));
            assertThat(other).isNotEqualTo(home);
            now++;
            assertThat(picked(running.withAffinity(affinity, now - 1)))
                    .as("its next request")
                    .isEqualTo(other);
            assertThat(picked(running.withAffinity(affinity)))
                    .as("a sticky key has no state there")
                    .isEqualTo(other);
            drained.change(home, null);
        }
    }

    @Test
    void status_saysWhoAndWhy_andNothingOfHealth() {
        drained.change("10.0.0.2:8001", DRAIN);
        assertThat(set.members())
                .filteredOn(ReplicaStatus::drained)
                .singleElement()
                .satisfies(server -> assertThat(server)
                        .returns("10.0.0.2:8001", ReplicaStatus::label)
                        .returns(false, ReplicaStatus::ready)
                        .returns(DRAIN, ReplicaStatus::reason));
    }

    @Test
    void serversThatComeLater_areDrainedAtOnce() {
        drained.change("10.0.0.4:8001", DRAIN);
        List<ServerAddress> more = new ArrayList<>();
        for (int i = 3; i <= 4; i++) {
            more.add(new ServerAddress.HostAddress(endpoint(i)));
        }
        set.literals(more);
        assertThat(servers()).containsExactly("10.0.0.3:8001");
        drained.replace(Map.of());
        assertThat(servers()).containsExactly("10.0.0.3:8001", "10.0.0.4:8001");
    }

    @Test
    void changeThatOtherGatewaysCannotBeTold_isNone() {
        drained.share((address, why) -> {
            throw new OipException(ErrorCode.UNAVAILABLE, "no answer");
        });
        assertThatThrownBy(() -> drained.change("10.0.0.1:8001", DRAIN)).hasMessage("no answer");
        assertThat(drained.all()).isEmpty();
        assertThat(servers()).hasSize(3);
    }
}

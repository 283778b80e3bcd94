package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.isthmus.gateway.catalogue.FleetSnapshots.FleetSnapshot.ReadinessReport;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadinessTest {

    @ParameterizedTest
    @CsvSource({
        "0,0,false,false,false",
        "0,1,false,false,false",
        "1,1,true,true,true",
        "1,2,true,false,false",
        "2,2,true,true,true",
        "1,3,true,false,false",
        "2,3,true,false,true",
        "2,4,true,false,false",
        "3,4,true,false,true"
    })
    void model_replicasReady(int ready, int total, boolean any, boolean all, boolean quorum) {
        ReadyCount tally = new ReadyCount(ready, total);

        assertThat(tally.satisfies(ReadyPolicy.ANY)).isEqualTo(any);
        assertThat(tally.satisfies(ReadyPolicy.ALL)).isEqualTo(all);
        assertThat(tally.satisfies(ReadyPolicy.QUORUM)).isEqualTo(quorum);
    }

    @Test
    void tally_ofStates_countsThem() {
        assertThat(ReadyCount.NONE.plus(true).plus(false).plus(true).plus(new ReadyCount(0, 1)))
                .isEqualTo(new ReadyCount(2, 4));
    }

    @Test
    void tally_moreReadyThanThereAre_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ReadyCount(2, 1))
                .withMessageContaining("0 to 1");
    }

    @Test
    void any_oneServerReady_isReady() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.ANY, Map.of("a", false, "b", true), Map.of("m", false)))
                .isEqualTo(new ReadinessReport(true, "", List.of()));
    }

    @Test
    void any_noServerReady_namesAll() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.ANY, Map.of("b", false, "a", false), Map.of()))
                .isEqualTo(new ReadinessReport(false, "no upstream has a ready server: a, b", List.of("a", "b")));
    }

    @Test
    void all_oneServerNotReady_namesIt() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.ALL, Map.of("a", false, "b", true), Map.of("m", true)))
                .isEqualTo(new ReadinessReport(false, "upstreams without a ready server: a", List.of("a")));
    }

    @Test
    void all_everyServerReady_isReady() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.ALL, Map.of("a", true, "b", true), Map.of("m", false))
                        .ready())
                .isTrue();
    }

    @Test
    void anyPolicy_noServers_isNotReady() {
        for (ServerReadyPolicy policy : ServerReadyPolicy.values()) {
            assertThat(ReadinessReport.of(policy, Map.of(), Map.of()).ready())
                    .as(policy.name())
                    .isFalse();
        }
    }

    @Test
    void models_everyModelReady_isReadyWhateverTheServers() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.MODELS, Map.of("a", false, "b", true), Map.of("m", true))
                        .ready())
                .isTrue();
    }

    @Test
    void models_oneModelNotReady_namesIt() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.MODELS, Map.of("a", true), Map.of("m", true, "n", false)))
                .isEqualTo(new ReadinessReport(false, "models not ready: n", List.of("n")));
    }

    @Test
    void models_noneConfigured_oneServerIsEnough() {
        assertThat(ReadinessReport.of(ServerReadyPolicy.MODELS, Map.of("a", false, "b", true), Map.of())
                        .ready())
                .isTrue();
    }
}

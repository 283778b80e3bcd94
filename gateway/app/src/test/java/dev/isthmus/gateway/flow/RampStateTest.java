package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Successive gateways with a persistent ramp state. */
class RampStateTest {

    @TempDir
    Path folder = Path.of(".");

    private Gateway start(String steps) throws Exception {
        return Gateway.start(config("steps: " + steps));
    }

    private GatewayConfig config(String ramp) throws Exception {
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), """
                listeners: [{port: 0}]
                local: {embedded_models: true}
                ramps: {state_file: state.json}
                models:
                  digits:
                    targets:
                      - {name: old, upstream: local}
                      - {name: new, upstream: local, version: "1"}
                    ramp: {target: new, %s}
                """.formatted(ramp));
        return ConfigLoader.load(file);
    }

    private static void expect(Gateway gateway, RampState state, double share) {
        assertThat(gateway.ramps().reports())
                .singleElement()
                .returns(state, RampReport::state)
                .returns(share, RampReport::share);
    }

    @Test
    void rolledBack_staysSoInTheNextProcess_untilItIsRestarted() throws Exception {
        try (Gateway first = start("[10%, 100%]")) {
            expect(first, RampState.RUNNING, 0.1);
            first.ramps().rollBack("digits");
        }
        try (Gateway second = start("[10%, 100%]")) {
            expect(second, RampState.ROLLED_BACK, 0);
            second.ramps().restart("digits");
        }
        try (Gateway third = start("[10%, 100%]")) {
            expect(third, RampState.RUNNING, 0.1);
            third.ramps().rollBack("digits");
        }
        try (Gateway changed = start("[20%, 100%]")) {
            expect(changed, RampState.ROLLED_BACK, 0);
        }
        assertThat(folder.resolve("state.json")).content().contains("\"state\" : \"rolled_back\"");
    }

    private static List<String> warnings(ReloadResult result) {
        return switch (result) {
            case ReloadResult.Applied applied -> applied.warnings();
            case ReloadResult.Rejected rejected -> throw new AssertionError(rejected.problems());
        };
    }

    @Test
    void reload_keepsARollback_andWarnsOfWhatItRestarts() throws Exception {
        try (Gateway gateway = start("[10%, 100%]")) {
            gateway.ramps().rollBack("digits");
            for (String other :
                    List.of("interval: 7m", "minimum_requests: 5", "max_error_rate: 3%", "max_latency_ratio: 2")) {
                assertThat(warnings(gateway.reload(config("steps: [10%, 100%], " + other))))
                        .as(other)
                        .isEmpty();
                expect(gateway, RampState.ROLLED_BACK, 0);
            }
            gateway.ramps().restart("digits");
            assertThat(warnings(gateway.reload(config("steps: [20%, 100%]"))))
                    .singleElement()
                    .asString()
                    .contains("begins again", "not one of the steps");
            expect(gateway, RampState.RUNNING, 0.2);
        }
    }
}

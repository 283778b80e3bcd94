package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Successive gateways with a persistent ramp state. */
class RampStateTest {

    @TempDir
    Path folder = Path.of(".");

    private Gateway start(String steps) throws Exception {
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), """
                listeners: [{port: 0}]
                local: {embedded_models: true}
                ramps: {state_file: state.json}
                models:
                  digits:
                    targets:
                      - {name: old, upstream: local}
                      - {name: new, upstream: local, version: "1"}
                    ramp: {target: new, steps: %s}
                """.formatted(steps));
        return Gateway.start(ConfigLoader.load(file));
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
            expect(changed, RampState.RUNNING, 0.2);
        }
        assertThat(folder.resolve("state.json")).content().contains("\"state\" : \"running\"");
    }
}

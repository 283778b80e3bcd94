package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The conformance suite as its users get it: its own tests ({@code conformance/oip_tests}), with doubles as servers,
 * and its wheel ({@code conformance/wheel-test}), which runs against a double and the real servers.
 */
@ExtendWith(RealServers.Shared.class)
class ConformanceWheelTest {
    @Test
    void suite_judgesDoubles() throws Exception {
        Script.pytest("oip_tests", Map.of());
    }

    @Test
    void wheel_inAnEmptyEnvironment_runsAgainstRealServers(RealServers servers) throws Exception {
        servers.awaitReady();
        List<String> arguments = new ArrayList<>();
        for (String name : List.of("triton", "mlserver", "kserve")) {
            RealServer server = servers.named(name);
            arguments.add(name);
            arguments.add("127.0.0.1:" + server.port("rest"));
            arguments.add("127.0.0.1:" + server.port("grpc"));
        }
        Script.Outcome outcome = Script.run("wheel-test", arguments.toArray(String[]::new));
        assertThat(outcome.complaint()).isEmpty();
    }
}

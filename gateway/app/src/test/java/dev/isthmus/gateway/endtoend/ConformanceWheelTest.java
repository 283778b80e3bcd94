package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The conformance suite as its users get it: its own tests ({@code conformance/oip_tests}), with doubles as servers,
 * and its wheel ({@code conformance/wheel-test}), which runs against a double and the real servers. As the suite waits
 * for servers that hang, all this runs at the same time.
 */
@ExtendWith(RealServers.Shared.class)
class ConformanceWheelTest {
    private static final int PARTS = 4;
    private static final ExecutorService THREADS = Executors.newVirtualThreadPerTaskExecutor();
    private static final List<Future<?>> TESTS = new ArrayList<>();
    private static Future<Script.Outcome> wheel;

    @BeforeAll
    static void start(RealServers servers) {
        for (int i = 0; i < PARTS; i++) {
            String part = "--part=" + i + "/" + PARTS;
            TESTS.add(THREADS.submit(() -> {
                Script.pytest("oip_tests", Map.of(), part);
                return null;
            }));
        }
        wheel = THREADS.submit(() -> testWheel(servers));
    }

    @AfterAll
    static void stop() {
        THREADS.close();
    }

    @Test
    void suite_judgesDoubles() throws Exception {
        for (Future<?> part : TESTS) {
            part.get();
        }
    }

    @Test
    void wheel_inAnEmptyEnvironment_runsAgainstRealServers() throws Exception {
        assertThat(wheel.get().complaint()).isEmpty();
    }

    private static Script.Outcome testWheel(RealServers servers) throws Exception {
        servers.awaitReady();
        List<String> arguments = new ArrayList<>();
        for (String name : List.of("triton", "mlserver", "kserve")) {
            RealServer server = servers.named(name);
            arguments.add(name);
            arguments.add("127.0.0.1:" + server.port("rest"));
            arguments.add("127.0.0.1:" + server.port("grpc"));
        }
        return Script.run("wheel-test", arguments.toArray(String[]::new));
    }
}

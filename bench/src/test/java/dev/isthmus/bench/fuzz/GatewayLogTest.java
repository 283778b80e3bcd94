package dev.isthmus.bench.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class GatewayLogTest {
    private final GatewayLog log = new GatewayLog();

    @Test
    void errorsAndStackTraces_areToldWithTheLineBefore() {
        log.line("2026-11-22T17:28:09.882Z INFO  d.i.Gateway - started");
        log.line("Isthmus serves REST and gRPC on 127.0.0.1:8080");
        log.line("2026-11-22T17:28:09.882Z WARN  i.n.Pipeline - it went wrong");
        log.line("java.io.IOException: reset");
        log.line("\tat a.b.C.d(C.java:1)");
        log.line("2026-11-22T17:28:09.882Z ERROR d.i.Gateway - worse");
        assertThat(log.errors())
                .containsExactly(
                        "2026-11-22T17:28:09.882Z WARN  i.n.Pipeline - it went wrong",
                        "java.io.IOException: reset",
                        "\tat a.b.C.d(C.java:1)",
                        "2026-11-22T17:28:09.882Z ERROR d.i.Gateway - worse");
    }

    @Test
    void warnings_areCountedByKind() {
        log.line("2026-11-22T17:28:09.882Z WARN  d.i.X - model 'a', 17 calls failed");
        log.line("2026-11-22T17:28:10.882Z WARN  d.i.X - model 'b', 3 calls failed");
        assertThat(log.warnings()).isEqualTo(Map.of("d.i.X - model #, # calls failed", 2));
        assertThat(log.errors()).isEmpty();
    }
}

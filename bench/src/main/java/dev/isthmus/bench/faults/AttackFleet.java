package dev.isthmus.bench.faults;

import dev.isthmus.bench.attack.Rest;
import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Loopback;
import dev.isthmus.bench.process.ProcessFigures;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Stub servers, and the attacked proxy before them: the gateway or another one. */
final class AttackFleet {
    private static final Duration START = Duration.ofSeconds(90);
    private static final List<String> STUB_FLAGS = List.of("-XX:+UseSerialGC", "-Xmx96m", "-XX:TieredStopAtLevel=1");

    private final Children children;
    private final Path folder;
    private final List<Integer> stubs = new ArrayList<>();

    /** Starts the servers. */
    AttackFleet(Children children, Path folder) throws IOException, BenchException, InterruptedException {
        this.children = children;
        this.folder = folder;
        Child stub = children.java(
                "stub",
                STUB_FLAGS,
                System.getProperty("java.class.path"),
                AttackStub.class.getName(),
                List.of(folder.toString()));
        for (String port : stub.await(AttackStub.LISTENING, START).split(" ")) {
            stubs.add(Integer.parseInt(port));
        }
    }

    /** Starts the attacked proxy and waits until it is ready. */
    Attacked start(AttackedProxy defender, Path home) throws IOException, BenchException, InterruptedException {
        List<Integer> ports = List.of(Loopback.freePort(), Loopback.freePort(), Loopback.freePort());
        ProcessBuilder program = defender.program(home, folder, ports, stubs);
        Map<String, String> environment = program.environment();
        environment.put("JAVA_HOME", System.getProperty("java.home"));
        Child child = children.start(defender.name(), program);
        Attacked attacked = new Attacked(
                defender,
                new ProcessFigures(child.pid()),
                ports.get(0),
                ports.get(defender.twoPorts() ? 1 : 0),
                defender.isthmus() ? ports.get(2) : 0);
        child.awaitReady(START, attacked::ready);
        return attacked;
    }

    /** The number of requests that servers received more than once. */
    int twice() throws IOException {
        return new Ledgers(folder).duplicates();
    }

    /** The number of servers that received the request that crashes them. */
    int poisoned() throws IOException {
        int count = 0;
        for (AttackStub.Kind kind : AttackStub.Kind.values()) {
            boolean got = kind.poisoned() && new Ledgers(folder).executions(kind.ledger())[AttackStub.POISON] > 0;
            count += got ? 1 : 0;
        }
        return count;
    }

    /** The attacked process with its ports. */
    record Attacked(AttackedProxy defender, ProcessFigures process, int port, int http2Port, int adminPort) {
        boolean ready() throws IOException {
            return Rest.get(port, defender.isthmus() ? "/v2/health/ready" : "/v2/models/m")
                    .equals("200");
        }

        /** Whether the process is alive and, for the gateway, reports that it is live. */
        boolean live() {
            try {
                return process.alive()
                        && (!defender.isthmus() || Rest.get(adminPort, "/live").equals("200"));
            } catch (IOException e) {
                return false;
            }
        }

        /** Bytes that calls hold according to the gateway's metrics; 0 for another proxy. */
        double used() {
            return defender.isthmus() ? metric("isthmus_memory_used_bytes") : 0;
        }

        /** A metric of the gateway, NaN if it does not respond. */
        double metric(String name) {
            try {
                String metrics = Loopback.get(adminPort, "/metrics");
                return metrics.contains("\n" + name + " ") ? Loopback.sum(metrics, name, "") : Double.NaN;
            } catch (IOException e) {
                return Double.NaN;
            }
        }
    }
}

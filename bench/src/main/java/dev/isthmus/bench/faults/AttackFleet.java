package dev.isthmus.bench.faults;

import dev.isthmus.bench.attack.Rest;
import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Servers, and what is attacked before them: the gateway, or another proxy. */
final class AttackFleet {
    private static final Duration START = Duration.ofSeconds(90);
    private static final List<String> STUB_FLAGS = List.of("-XX:+UseSerialGC", "-Xmx96m", "-XX:TieredStopAtLevel=1");
    private static final int PERIOD_MILLIS = 50;

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

    /** Starts what is attacked and returns when it answers. */
    Attacked start(Defender defender, Path home) throws IOException, BenchException, InterruptedException {
        List<Integer> ports = List.of(freePort(), freePort(), freePort());
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
        long end = System.nanoTime() + START.toNanos();
        while (!attacked.ready()) {
            if (!child.alive() || System.nanoTime() > end) {
                throw child.failure("was not ready");
            }
            Thread.sleep(PERIOD_MILLIS);
        }
        return attacked;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** How many requests arrived more than once at the servers. */
    int twice() throws IOException {
        return new Ledgers(folder).duplicates();
    }

    /** How many servers the request came to that they die of. */
    int poisoned() throws IOException {
        int count = 0;
        for (AttackStub.Kind kind : AttackStub.Kind.values()) {
            boolean got = kind.poisoned() && new Ledgers(folder).executions(kind.ledger())[AttackStub.POISON] > 0;
            count += got ? 1 : 0;
        }
        return count;
    }

    /** The address of what is attacked, and its process. */
    record Attacked(Defender defender, ProcessFigures process, int port, int http2Port, int adminPort) {
        boolean ready() {
            try {
                return defender.isthmus()
                        ? Rest.get(port, "/v2/health/ready").equals("200")
                        : Rest.get(port, "/v2/models/m").equals("200");
            } catch (IOException e) {
                return false;
            }
        }

        /** Whether the process is there and, of the gateway, says that it is live. */
        boolean live() {
            try {
                return process.alive()
                        && (!defender.isthmus() || Rest.get(adminPort, "/live").equals("200"));
            } catch (IOException e) {
                return false;
            }
        }

        /** Bytes that calls hold, as the gateway counts them; 0 of another proxy. */
        double used() {
            return defender.isthmus() ? metric("isthmus_memory_used_bytes") : 0;
        }

        /** A metric of the gateway, NaN where it does not answer. */
        double metric(String name) {
            try {
                return Http.get(adminPort, "/metrics")
                        .lines()
                        .filter(line -> line.startsWith(name + " "))
                        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
                        .findFirst()
                        .orElse(Double.NaN);
            } catch (IOException e) {
                return Double.NaN;
            }
        }
    }
}

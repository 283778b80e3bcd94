package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.cli.IsthmusCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Gateways in front of the real servers and the embedded models, checked against the protocol's rules ({@code
 * conformance/score}) and recorded responses ({@code conformance/replay}). The tests of one server run sequentially,
 * the servers in parallel.
 */
@ExtendWith(RealServers.Shared.class)
class ConformanceTest {
    /** The minimum percentage of cases that each gateway passes. It accounts for what a server does not support. */
    private static final List<List<Subject>> LEAST_SCORES = List.of(
            List.of(new Subject("triton", "grpc", 99.9), new Subject("triton", "rest", 98.3)),
            List.of(new Subject("mlserver", "grpc", 97.1), new Subject("mlserver", "rest", 97.1)),
            List.of(
                    new Subject("kserve", "grpc", 99.7),
                    new Subject("kserve", "rest", 98.5),
                    new Subject("onnx", "local", 100)));

    /** @param wire between gateway and server */
    private record Subject(String server, String wire, double leastScore) {}

    @Test
    void score(RealServers servers) throws Exception {
        List<Callable<List<Script.Outcome>>> groups = new ArrayList<>();
        for (List<Subject> subjects : LEAST_SCORES) {
            groups.add(() -> {
                List<Script.Outcome> outcomes = new ArrayList<>();
                for (Subject subject : subjects) {
                    outcomes.add(score(servers, subject));
                }
                return outcomes;
            });
        }
        assertThat(complaints(groups)).isEmpty();
    }

    private static Script.Outcome score(RealServers servers, Subject subject) throws Exception {
        int witnessRest = RealServer.freePort();
        int witnessGrpc = RealServer.freePort();
        // Triton runs on this machine, like the score: they share memory.
        String features = subject.server().equals("triton") ? ", shared_memory: true" : "";
        String yaml = upstream(servers, subject, features) + """
                  witness_rest: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                  witness_grpc: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                models:
                  witness_rest: {upstream: witness_rest}
                  witness_grpc: {upstream: witness_grpc}
                """.formatted(witnessRest, witnessGrpc);
        try (Gateway gateway = TestGateways.start(yaml)) {
            Script.Outcome outcome = Script.run(
                    "score",
                    TestGateways.address(gateway),
                    "--grpc",
                    TestGateways.address(gateway),
                    "--models",
                    subject.server(),
                    "--timeout",
                    "30",
                    "--dangerous",
                    "--witness-rest",
                    Integer.toString(witnessRest),
                    "--witness-grpc",
                    Integer.toString(witnessGrpc),
                    "--min-score",
                    String.format(Locale.ROOT, "%.1f", subject.leastScore()));
            System.out.println(subject.server() + " over " + subject.wire() + ": " + outcome.lastLine());
            return outcome;
        }
    }

    @Test
    void replay(RealServers servers) throws Exception {
        List<Callable<List<Script.Outcome>>> groups = new ArrayList<>();
        for (String server : List.of("triton", "mlserver", "kserve")) {
            groups.add(() -> {
                List<Script.Outcome> outcomes = new ArrayList<>();
                for (String wire : List.of("grpc", "rest")) {
                    outcomes.addAll(replay(servers, new Subject(server, wire, 0)));
                }
                return outcomes;
            });
        }
        assertThat(complaints(groups)).isEmpty();
    }

    private static List<Script.Outcome> replay(RealServers servers, Subject subject) throws Exception {
        try (Gateway gateway = TestGateways.start(upstream(servers, subject, ""))) {
            TestGateways.awaitReady(gateway);
            List<String> replay = List.of("--gateway", TestGateways.address(gateway), "--server", subject.server());
            List<Script.Outcome> outcomes = new ArrayList<>();
            for (String client : List.of("grpc", "rest")) {
                List<String> arguments = new ArrayList<>(replay);
                arguments.addAll(List.of("--wire", client, "--timeout", "30"));
                if (!client.equals(subject.wire())) {
                    arguments.add("--cross");
                }
                Script.Outcome outcome = Script.run("replay", arguments.toArray(String[]::new));
                System.out.println(outcome.lastLine());
                outcomes.add(outcome);
            }
            return outcomes;
        }
    }

    /** What a server's own users run. The gateway is a process, which the script starts and ends. */
    @Test
    void against(RealServers servers, @TempDir Path folder) throws Exception {
        Path isthmus = folder.resolve("isthmus");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Files.writeString(
                isthmus, """
                #!/bin/sh
                CLASSPATH='%s' exec '%s' --enable-native-access=ALL-UNNAMED %s "$@"
                """.formatted(System.getProperty("java.class.path"), java, IsthmusCommand.class.getName()));
        Files.setPosixFilePermissions(isthmus, PosixFilePermissions.fromString("rwx------"));
        for (String name : List.of("triton", "mlserver")) {
            RealServer server = servers.named(name);
            server.awaitReady();
            Script.Outcome outcome = Script.run(
                    "against",
                    "http://127.0.0.1:" + server.port("rest"),
                    "--grpc",
                    "127.0.0.1:" + server.port("grpc"),
                    "--isthmus",
                    isthmus.toString(),
                    "--timeout",
                    "30",
                    "--time-limit",
                    "600");
            assertThat(outcome.status()).as(outcome.text()).isZero();
            assertThat(outcome.text())
                    .containsPattern("identical .*\\bgrpc.infer.raw\\b")
                    .containsPattern("documented .*\\brest.get.server-metadata:")
                    .doesNotContain("not run", "broken");
            System.out.println(name + " behind Isthmus: " + outcome.lastLine());
        }
    }

    /** A configuration up to its upstreams; this one is the default upstream. */
    private static String upstream(RealServers servers, Subject subject, String features) throws Exception {
        if (subject.wire().equals("local")) {
            return """
                    listeners: [{port: 0, management: allow}]
                    default_upstream: local
                    local: {embedded_models: true}
                    upstreams:
                    """;
        }
        RealServer server = servers.named(subject.server());
        server.awaitReady();
        return """
                listeners: [{port: 0, management: allow}]
                default_upstream: server
                upstreams:
                  server: {protocol: %s, endpoints: ["127.0.0.1:%d"]%s}
                """.formatted(subject.wire(), server.port(subject.wire()), features);
    }

    private static List<String> complaints(List<Callable<List<Script.Outcome>>> groups) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(groups.size())) {
            List<String> complaints = new ArrayList<>();
            for (Future<List<Script.Outcome>> group : threads.invokeAll(groups)) {
                group.get().stream()
                        .map(Script.Outcome::complaint)
                        .filter(complaint -> !complaint.isEmpty())
                        .forEach(complaints::add);
            }
            return complaints;
        }
    }
}

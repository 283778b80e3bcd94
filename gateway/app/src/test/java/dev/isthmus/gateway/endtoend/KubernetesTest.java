package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.endtoend.KubernetesCluster.PodState;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A gateway in front of Services of a real Kubernetes API server. Its pods are gateways with the embedded models. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KubernetesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final int CALLS = 1_000;

    @TempDir
    static Path folder = Path.of(".");

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private KubernetesCluster cluster;
    private String namespace = "";

    @BeforeAll
    void start() throws Exception {
        cluster = new KubernetesCluster(folder);
    }

    @AfterAll
    void stop() throws Exception {
        cluster.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        namespace = KubernetesCluster.namespace(test);
        cluster.create(namespace, "triton");
        writeToken(cluster.token(namespace, "first"));
        log.start();
        ((Logger) LoggerFactory.getLogger("dev.isthmus.gateway.fleet.kubernetes")).addAppender(log);
    }

    @AfterEach
    void detach() {
        ((Logger) LoggerFactory.getLogger("dev.isthmus.gateway.fleet.kubernetes")).detachAppender(log);
    }

    private static void writeToken(String token) throws Exception {
        // As a projected volume does it: the file is replaced.
        Path next = Files.writeString(folder.resolve("token.new"), token);
        Files.move(next, folder.resolve("token"), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private Gateway gateway(String... endpoints) throws Exception {
        String list = Stream.of(endpoints).map(each -> "\"" + each + "\"").collect(Collectors.joining(", "));
        return TestGateways.start("""
                listeners: [{port: 0}]
                kubernetes: {api_server: "%s", ca_file: "%s", token_file: "%s"}
                upstreams:
                  fleet: {protocol: grpc, endpoints: [%s]}
                default_upstream: fleet
                """.formatted(cluster.url(), cluster.ca(), folder.resolve("token"), list));
    }

    private String service() {
        return "k8s:" + namespace + "/triton:grpc";
    }

    /** A pod that serves the embedded models, and ends as one that gets SIGTERM. */
    private static Gateway pod() throws Exception {
        return TestGateways.start("""
                listeners: [{host: "%s", port: 0, access: open}]
                drain: {delay: 200ms, timeout: 60s}
                local: {embedded_models: true}
                default_upstream: local
                """.formatted(KubernetesCluster.address()));
    }

    private static int port(Gateway pod) {
        return pod.addresses().getFirst().getPort();
    }

    private static Set<String> servers(Gateway gateway) {
        return gateway.catalogue().upstreams().stream()
                .flatMap(upstream -> gateway.catalogue().members(upstream).stream())
                .map(ReplicaStatus::label)
                .collect(Collectors.toSet());
    }

    private static void awaitPorts(Gateway gateway, Integer... ports) {
        Set<String> expected = Stream.of(ports)
                .map(port -> KubernetesCluster.address() + ":" + port)
                .collect(Collectors.toSet());
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(servers(gateway)).isEqualTo(expected));
    }

    private List<String> warnings() {
        return log.list.stream()
                .filter(event -> event.getLevel().toString().equals("WARN"))
                .map(ILoggingEvent::getFormattedMessage)
                .filter(text -> text.contains(namespace))
                .toList();
    }

    @Test
    void scale_upAndDown() throws Exception {
        cluster.slice(namespace, "triton", "a", 9001, PodState.READY);
        try (Gateway gateway = gateway(service())) {
            awaitPorts(gateway, 9001);
            cluster.slice(namespace, "triton", "b", 9002, PodState.READY);
            cluster.slice(namespace, "triton", "c", 9003, PodState.NOT_READY);
            awaitPorts(gateway, 9001, 9002);
            cluster.slice(namespace, "triton", "c", 9003, PodState.READY);
            awaitPorts(gateway, 9001, 9002, 9003);
            cluster.slice(namespace, "triton", "a", 9001, PodState.TERMINATING);
            awaitPorts(gateway, 9002, 9003);
            cluster.deleteSlice(namespace, "a");
            cluster.deleteSlice(namespace, "b");
            awaitPorts(gateway, 9003);
            cluster.deleteSlice(namespace, "c");
            awaitPorts(gateway);
        }
    }

    @Test
    void rollingReplacement_losesNoCall() throws Exception {
        List<Gateway> pods = new ArrayList<>(List.of(pod(), pod()));
        for (Gateway pod : pods) {
            cluster.slice(namespace, "triton", "pod-" + port(pod), port(pod), PodState.READY);
        }
        try (Gateway gateway = gateway(service())) {
            awaitPorts(gateway, port(pods.get(0)), port(pods.get(1)));
            TestGateways.awaitReady(gateway);
            try (SteadyCalls calls =
                    new SteadyCalls(gateway.addresses().getFirst().getPort())) {
                calls.awaitMore(CALLS);
                for (int i = 0; i < pods.size(); i++) {
                    Gateway next = pod();
                    Gateway old = pods.set(i, next);
                    cluster.slice(namespace, "triton", "pod-" + port(next), port(next), PodState.READY);
                    awaitPorts(gateway, port(old), port(pods.get(1 - i)), port(next));
                    cluster.slice(namespace, "triton", "pod-" + port(old), port(old), PodState.TERMINATING);
                    old.drain("SIGTERM", true);
                    old.close();
                    cluster.deleteSlice(namespace, "pod-" + port(old));
                    calls.awaitMore(CALLS);
                }
                awaitPorts(gateway, port(pods.get(0)), port(pods.get(1)));
                calls.stop();
                assertThat(calls.failures).isEmpty();
                assertThat(calls.succeeded.get()).isGreaterThanOrEqualTo(CALLS * 3);
            }
        } finally {
            pods.forEach(Gateway::close);
        }
    }

    @Test
    void apiServerGone_lastServersStay() throws Exception {
        Gateway pod = pod();
        cluster.slice(namespace, "triton", "a", port(pod), PodState.READY);
        try (Gateway gateway = gateway(service())) {
            awaitPorts(gateway, port(pod));
            lastServersStay(gateway, port(pod));
            cluster.slice(namespace, "triton", "b", 9002, PodState.READY);
            awaitPorts(gateway, port(pod), 9002);
            // An API server that has just started may refuse with 403 before it has read its roles: that is another
            // kind.
            assertThat(warnings().size()).isLessThanOrEqualTo(2);
            assertThat(warnings().getFirst())
                    .contains("its last servers stay in use: the connection to the API server has ended");
        } finally {
            pod.close();
        }
    }

    private void lastServersStay(Gateway gateway, int port) throws Exception {
        try (SteadyCalls calls = new SteadyCalls(gateway.addresses().getFirst().getPort())) {
            calls.awaitMore(CALLS);
            cluster.stopApiServer();
            try {
                await().atMost(PATIENCE).until(() -> !warnings().isEmpty());
                calls.awaitMore(CALLS);
                awaitPorts(gateway, port);
            } finally {
                cluster.startApiServer();
            }
            calls.stop();
            assertThat(calls.failures).isEmpty();
        }
    }

    @Test
    void tokenRenewed_isUsed() throws Exception {
        cluster.slice(namespace, "triton", "a", 9001, PodState.READY);
        try (Gateway gateway = gateway(service())) {
            awaitPorts(gateway, 9001);
            writeToken(cluster.token(namespace, "second"));
            cluster.request("DELETE", "/api/v1/namespaces/" + namespace + "/secrets/first", "");
            // Ends the watch that was accepted with the first token.
            cluster.stopApiServer();
            cluster.startApiServer();
            cluster.slice(namespace, "triton", "b", 9002, PodState.READY);
            awaitPorts(gateway, 9001, 9002);
        }
    }

    @Test
    void tokenRefused_untilThereIsAnother() throws Exception {
        cluster.slice(namespace, "triton", "a", 9001, PodState.READY);
        cluster.request("DELETE", "/api/v1/namespaces/" + namespace + "/secrets/first", "");
        try (Gateway gateway = gateway(service())) {
            await().atMost(PATIENCE).until(() -> warnings().toString().contains("401"));
            assertThat(servers(gateway)).isEmpty();
            writeToken(cluster.token(namespace, "second"));
            awaitPorts(gateway, 9001);
        }
    }

    @Test
    void missingPermission_isNamed_othersAreWatched() throws Exception {
        String other = namespace + "-other";
        cluster.request("POST", "/api/v1/namespaces", "{'metadata': {'name': '" + other + "'}}");
        cluster.slice(other, "spot", "a", 9009, PodState.READY);
        cluster.slice(namespace, "triton", "a", 9001, PodState.READY);
        try (Gateway gateway = gateway(service(), "k8s:" + other + "/spot:grpc")) {
            awaitPorts(gateway, 9001);
            await().atMost(PATIENCE).until(() -> !warnings().isEmpty());
            assertThat(warnings())
                    .singleElement()
                    .asString()
                    .contains("Service '" + other + "/spot' cannot be watched")
                    .contains("403")
                    .contains("cannot list resource \"endpointslices\" in API group \"discovery.k8s.io\"");
            cluster.allow(namespace, other);
            awaitPorts(gateway, 9001, 9009);
        }
    }

    @Test
    void missingPermission_isSaidByCheck() throws Exception {
        String other = namespace + "-other";
        cluster.request("POST", "/api/v1/namespaces", "{'metadata': {'name': '" + other + "'}}");
        Path config = Files.writeString(folder.resolve("check.yaml"), """
                kubernetes: {api_server: "%s", ca_file: "%s", token_file: "%s"}
                upstreams:
                  fleet: {protocol: grpc, connect_timeout: 1s, endpoints: ["%s", "k8s:%s/spot:grpc"]}
                default_upstream: fleet
                """.formatted(
                        cluster.url(), cluster.ca(), folder.resolve("token"), service(), other));
        Process check = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "dev.isthmus.gateway.cli.IsthmusCommand",
                        "check",
                        "--config",
                        config.toString())
                .redirectErrorStream(true)
                .start();
        String out = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(check.waitFor()).as(out).isEqualTo(1);
        for (String verb : List.of("list", "watch")) {
            String what = verb + " endpointslices.discovery.k8s.io.*";
            assertThat(out.lines())
                    .anyMatch(line -> line.matches("kubernetes +namespace " + namespace + " +ok +may " + what))
                    .anyMatch(line -> line.matches("kubernetes +namespace " + other + " +failed +may not " + what));
        }
        assertThat(out.lines()).anyMatch(line -> line.matches("clock +API server +ok +here .* it"));
    }

    @Test
    void unknownServiceAndPort_areNamed() throws Exception {
        cluster.slice(namespace, "triton", "a", 9001, PodState.READY);
        try (Gateway gateway =
                gateway(service(), "k8s:" + namespace + "/trition:grpc", "k8s:" + namespace + "/triton:grcp")) {
            awaitPorts(gateway, 9001);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(warnings())
                            .containsExactlyInAnyOrder(
                                    "'k8s:" + namespace + "/trition:grpc': the Service has no EndpointSlices; a Service"
                                            + " with a selector is expected; it gets no calls",
                                    "'k8s:" + namespace + "/triton:grcp': the Service has no TCP port named 'grcp'; its"
                                            + " ports are: grpc; it gets no calls"));
        }
    }
}

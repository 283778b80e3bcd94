package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Loopback;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Two stub servers and one or two gateways before them, each in its own process, with a folder for configurations and
 * ledgers.
 */
final class Fleet {
    static final List<String> STUBS = List.of("one", "two");
    /** Only C1: CPU time that a stub spends on compilation is taken from the gateway. */
    private static final List<String> STUB_FLAGS = List.of("-XX:+UseSerialGC", "-Xmx96m", "-XX:TieredStopAtLevel=1");

    private static final Duration START = Duration.ofSeconds(60);

    private final Children children;
    private final Path folder;
    private final Scenario scenario;
    private final InetAddress address;
    private final List<Child> stubs = new ArrayList<>();
    private final List<Integer> pods = new ArrayList<>();
    private final List<Integer> ports = new ArrayList<>();
    private final List<Child> gateways = new ArrayList<>();
    private Path home = Path.of(".");
    private @Nullable KubernetesApi kubernetes;
    private final GatewayConfigs configs;

    /** Starts the stubs of the scenario. */
    Fleet(Children children, Path folder, Scenario scenario) throws IOException, BenchException, InterruptedException {
        this.children = children;
        this.folder = folder;
        this.scenario = scenario;
        this.address = scenario.pods() ? KubernetesApi.address() : InetAddress.getLoopbackAddress();
        List<Integer> stubPorts = new ArrayList<>();
        for (String name : STUBS) {
            stubs.add(startStub(name, 0));
        }
        for (Child stub : stubs) {
            stubPorts.add(Integer.parseInt(stub.await(StubServer.LISTENING, START)));
        }
        pods.addAll(stubPorts);
        configs = new GatewayConfigs(Loopback.freePort(), Loopback.freePort(), List.copyOf(stubPorts));
    }

    private Child startStub(String name, int port) throws IOException {
        return children.java(
                name,
                STUB_FLAGS,
                System.getProperty("java.class.path"),
                (scenario.restUpstream() ? RestStubServer.class : StubServer.class).getName(),
                List.of(
                        name,
                        folder.toString(),
                        Integer.toString(port),
                        Integer.toString(scenario.serviceMicros()),
                        address.getHostAddress()));
    }

    /** Starts the packaged gateways and waits until they are ready. */
    void startGateways(Path project) throws IOException, BenchException, InterruptedException {
        home = project;
        if (scenario.secure()) {
            certificates().create();
        }
        String settings = scenario.pods() ? startKubernetes().settings() : "";
        for (int number = 0; number < scenario.gateways(); number++) {
            GatewayConfigs own = number == 0 ? configs : configs.at(Loopback.freePort());
            Files.writeString(configFile(number), settings + scenario.config(own));
            ports.add(own.port());
            gateways.add(launch(number));
        }
        for (int number = 0; number < scenario.gateways(); number++) {
            awaitReady(number);
        }
    }

    private KubernetesApi startKubernetes() throws IOException, BenchException, InterruptedException {
        KubernetesApi api = KubernetesApi.start(
                children,
                home,
                folder.resolve("cluster"),
                Loopback.freePort(),
                Loopback.freePort(),
                Loopback.freePort());
        for (int pod : pods) {
            api.add(pod);
        }
        kubernetes = api;
        return api;
    }

    /** Replaces a stub that is a pod: another one becomes ready, then this one terminates and ends. */
    void replacePod(int stub, String name) throws IOException, BenchException, InterruptedException {
        KubernetesApi api = Objects.requireNonNull(kubernetes);
        Child next = startStub(name, 0);
        int port = Integer.parseInt(next.await(StubServer.LISTENING, START));
        api.add(port);
        int old = pods.set(stub, port);
        Child ending = stubs.set(stub, next);
        api.terminate(old);
        ending.tell(StubServer.DRAIN);
        ending.awaitExit(START);
        api.remove(old);
    }

    private Child launch(int number) throws IOException, BenchException {
        Path distribution = home.resolve("gateway/app/target/dist/lib");
        if (!Files.isDirectory(distribution)) {
            throw new BenchException(distribution + ": the gateway is not packaged");
        }
        return children.java(
                "gateway",
                scenario.maxFiles() == 0 ? List.of() : List.of("prlimit", "--nofile=" + scenario.maxFiles()),
                List.of("-XX:+UseSerialGC", "-Xmx512m"),
                distribution + File.separator + "*",
                "dev.isthmus.gateway.cli.IsthmusCommand",
                List.of("serve", "--config", configFile(number).toString()));
    }

    private void awaitReady(int number) throws BenchException, InterruptedException {
        gateways.get(number).awaitReady(START, () -> {
            if (scenario.secure()) {
                Loopback.get(configs.adminPort(), "/ready");
            } else {
                Loopback.get(ports.get(number), "/v2/health/ready");
            }
            return true;
        });
    }

    /** Sends a signal to the first gateway. */
    void signalGateway(String name) throws IOException, BenchException, InterruptedException {
        gateways.getFirst().signal(name);
    }

    /** The process id of the first gateway. */
    long gatewayPid() {
        return gateways.getFirst().pid();
    }

    /** The files of a gateway that {@linkplain Scenario#secure() uses TLS}. */
    CertificateFiles certificates() {
        return new CertificateFiles(folder.resolve("tls"));
    }

    /** Sends SIGTERM to a gateway and waits for its end; returns its exit code. */
    int terminateGateway(int number) throws IOException, BenchException, InterruptedException {
        Child gateway = gateways.get(number);
        gateway.signal("TERM");
        return gateway.awaitExit(START);
    }

    /** Starts a gateway that has ended on its old port, and waits until it is ready. */
    void restartGateway(int number) throws IOException, BenchException, InterruptedException {
        gateways.set(number, launch(number));
        awaitReady(number);
    }

    /** The ports of the gateways. */
    List<Integer> ports() {
        return List.copyOf(ports);
    }

    /** Replaces the gateway's configuration file atomically. */
    void configure(String config) throws IOException {
        Path made = folder.resolve("isthmus.yaml.new");
        Files.writeString(made, config);
        Files.move(made, configFile(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    Path configFile() {
        return configFile(0);
    }

    private Path configFile(int number) {
        return folder.resolve(number == 0 ? "isthmus.yaml" : "isthmus-" + number + ".yaml");
    }

    /** Sends SIGKILL to a stub and waits for its end. */
    void kill(int stub) throws InterruptedException {
        children.kill(stubs.get(stub));
    }

    /** Ends a stub with the calls that it has begun; returns its exit code. */
    int drain(int stub) throws IOException, BenchException, InterruptedException {
        stubs.get(stub).tell(StubServer.DRAIN);
        return stubs.get(stub).awaitExit(START);
    }

    /** Restarts a stub that has ended on its old port and waits until it listens. */
    void restart(int stub) throws IOException, BenchException, InterruptedException {
        Child started = startStub(STUBS.get(stub), configs.stubs().get(stub));
        stubs.set(stub, started);
        started.await(StubServer.LISTENING, START);
    }

    Child stub(int number) {
        return stubs.get(number);
    }

    Ledgers ledgers() {
        return new Ledgers(folder);
    }

    GatewayConfigs configs() {
        return configs;
    }
}

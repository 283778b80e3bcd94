package dev.isthmus.bench.sizing;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Loopback;
import dev.isthmus.bench.process.ProcessFigures;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A gateway in front of the servers of a shape, each in a process of its own. */
final class SizedGateway implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(120);
    /** Only C1: CPU time that the servers spend on compilation is taken from the gateway. */
    private static final List<String> STUB_FLAGS = List.of("-XX:+UseSerialGC", "-Xmx512m", "-XX:TieredStopAtLevel=1");

    private static final String TOKEN = "sizing";

    private final FleetShape shape;
    private final Path config;
    private final Path token;
    private final String settings;
    private final Child stub;
    private final List<Integer> ports;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private @Nullable Child gateway;
    private int port;
    private int adminPort;
    private int changes;

    /**
     * Starts the servers.
     *
     * @param settings further sections of the configuration
     */
    SizedGateway(Children children, Path folder, FleetShape shape, String settings)
            throws IOException, BenchException, InterruptedException {
        this.shape = shape;
        this.settings = settings;
        config = folder.resolve("models-" + shape.models() + ".yaml");
        token = Files.writeString(folder.resolve("token-" + shape.models()), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        stub = children.java(
                "servers",
                STUB_FLAGS,
                System.getProperty("java.class.path"),
                FleetStub.class.getName(),
                List.of(
                        Integer.toString(shape.models()),
                        Integer.toString(shape.servers()),
                        Integer.toString(shape.upstreams())));
        ports = Arrays.stream(stub.await(FleetStub.LISTENING, LIMIT).split(" ", -1))
                .map(Integer::valueOf)
                .toList();
    }

    /** Writes a configuration in which one route differs from the previous one. */
    private void change() throws IOException {
        Files.writeString(config, shape.configuration(port, adminPort, token, ports, settings, "alias-" + changes++));
    }

    FleetShape shape() {
        return shape;
    }

    int port() {
        return port;
    }

    /**
     * Starts the gateway; returns the seconds until it was ready.
     *
     * @param program starts a gateway with this configuration file
     */
    double start(Children children, Function<Path, ProcessBuilder> program)
            throws IOException, BenchException, InterruptedException {
        // Not earlier: connections of a gateway that runs meanwhile would take them.
        port = Loopback.freePort();
        adminPort = Loopback.freePort();
        change();
        long begun = System.nanoTime();
        Child started = children.start("gateway", program.apply(config));
        gateway = started;
        started.awaitReady(LIMIT, () -> {
            Loopback.get(adminPort, "/ready");
            Loopback.get(port, "/v2/health/ready");
            return true;
        });
        return (System.nanoTime() - begun) / 1e9;
    }

    ProcessFigures process() {
        return new ProcessFigures(child().pid());
    }

    private Child child() {
        if (gateway == null) {
            throw new IllegalStateException("the gateway was not started");
        }
        return gateway;
    }

    /** The export of all metrics. */
    String metrics() throws IOException {
        return Loopback.get(adminPort, "/metrics");
    }

    /** Collects garbage; returns the heap in use in MiB. */
    double heapMib() throws IOException, InterruptedException, BenchException {
        child().collectGarbage();
        return Loopback.sum(metrics(), "jvm_memory_used_bytes", "area=\"heap\"") / (1 << 20);
    }

    /** Changes one route and reloads; returns the seconds until the response. */
    double reload() throws IOException, InterruptedException, BenchException {
        change();
        long begun = System.nanoTime();
        HttpResponse<String> response = http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + "/reload"))
                        .timeout(LIMIT)
                        .header("Authorization", "Bearer " + TOKEN)
                        .POST(HttpRequest.BodyPublishers.noBody())
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200 || !response.body().contains("alias-" + (changes - 1))) {
            throw child().failure("did not reload: " + response.body());
        }
        return (System.nanoTime() - begun) / 1e9;
    }

    /** The number of requests that the servers got so far, by method. */
    Map<String, Long> requests() throws IOException, InterruptedException, BenchException {
        stub.tell(FleetStub.COUNTS);
        Map<String, Long> counts = new TreeMap<>();
        for (String count : stub.await(FleetStub.COUNTS + " ", LIMIT).split(" ", -1)) {
            int equals = count.indexOf('=');
            counts.put(count.substring(0, equals), Long.valueOf(count.substring(equals + 1)));
        }
        return counts;
    }

    @Override
    public void close() {
        http.close();
        if (gateway != null) {
            gateway.destroy();
        }
        stub.destroy();
    }
}

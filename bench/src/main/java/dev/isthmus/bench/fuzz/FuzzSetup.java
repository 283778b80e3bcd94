package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Loopback;
import dev.isthmus.bench.process.ProcessFigures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A small gateway in its own process, with servers in this process: {@code echo} and {@code echo-rest} are always
 * correct, {@code wild} (gRPC) and {@code wild-rest} are often not. The model {@code simple} runs in the gateway.
 */
final class FuzzSetup implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(120);
    private static final String JAVA_OPTIONS =
            "-Xmx256m -XX:MaxDirectMemorySize=256m -Dio.netty.leakDetection.level=simple -Dio.netty.leakDetection.samplingInterval=64";
    /** With short timeouts, so that they expire in a short run. */
    private static final String CONFIG = """
            listeners: [{host: 127.0.0.1, port: %d, management: allow}]
            admin: {port: %d}
            limits: {max_concurrent_streams: 50}
            health: {warm_up: 0s}
            connections:
              request_headers_timeout: 2s
              request_body_timeout: 2s
              stream_idle_timeout: 4s
              write_timeout: 3s
              idle_timeout: 20s
              http2_keepalive_interval: 2s
              http2_keepalive_timeout: 2s
            upstream_defaults: {timeout: 3s, outliers: {consecutive_failures: 0}, retry: {on: [unsent, unavailable, lost]}}
            upstreams:
              echo: {protocol: grpc, endpoints: ['127.0.0.1:%d']}
              echo-rest: {protocol: rest, endpoints: ['127.0.0.1:%d']}
              wild: {protocol: grpc, endpoints: ['127.0.0.1:%d']}
              wild-rest: {protocol: rest, endpoints: ['127.0.0.1:%d']}
            local: {embedded_models: true, threads: 1}
            models:
              echo: {upstream: echo}
              echo-rest: {upstream: echo-rest}
              wild: {upstream: wild, fallback: {upstream: echo}}
              wild-rest: {upstream: wild-rest}
              simple: {upstream: local}
            default_upstream: wild
            """;

    private static final Pattern METERS_OF_CALLS = Pattern.compile(
            "^(isthmus_(?:memory_used_bytes|connections_open|(?:requests|upstream|endpoint)_under_way)(?:\\{[^}]*})?) (\\S+)$",
            Pattern.MULTILINE);

    private final CorrectServer echo = new CorrectServer();
    private final WildRestServer echoRest;
    private final WildRestServer wildRest;
    private final WildGrpcServer wild;
    private final GatewayLog log = new GatewayLog();
    private final int port = Loopback.freePort();
    private final int admin = Loopback.freePort();
    private final Child gateway;

    /** Starts the servers and the packaged gateway of {@code home}. */
    FuzzSetup(Children children, Path home, Path folder, long seed)
            throws IOException, BenchException, InterruptedException {
        echoRest = new WildRestServer(seed, false);
        wildRest = new WildRestServer(seed, true);
        wild = new WildGrpcServer(seed);
        echoRest.start();
        wildRest.start();
        wild.start();
        Path config = folder.resolve("isthmus.yaml");
        Files.writeString(
                config, CONFIG.formatted(port, admin, echo.port(), echoRest.port(), wild.port(), wildRest.port()));
        ProcessBuilder program = new ProcessBuilder(
                home.resolve("gateway/app/target/dist/bin/isthmus").toString(), "serve", "--config", config.toString());
        program.environment().put("JAVA_HOME", System.getProperty("java.home"));
        program.environment().put("ISTHMUS_JAVA_OPTIONS", JAVA_OPTIONS);
        gateway = children.start("gateway", program, log::line);
        gateway.awaitReady(START, this::ready);
    }

    private boolean ready() throws IOException {
        for (String model : new String[] {"echo", "echo-rest", "simple"}) {
            Loopback.get(port, "/v2/models/" + model + "/ready");
        }
        Loopback.get(admin, "/ready");
        return true;
    }

    int port() {
        return port;
    }

    int adminPort() {
        return admin;
    }

    Child gateway() {
        return gateway;
    }

    GatewayLog log() {
        return log;
    }

    String metrics() throws IOException {
        return Loopback.get(admin, "/metrics");
    }

    /** Heap in use after a collection, in bytes. */
    double heap() throws IOException, InterruptedException, BenchException {
        gateway.collectGarbage();
        return Loopback.sum(metrics(), "jvm_memory_used_bytes", "area=\"heap\"");
    }

    ProcessFigures figures() {
        return new ProcessFigures(gateway.pid());
    }

    /** Metrics that must be 0 after all clients have disconnected, and are not: name with labels, and value. */
    Map<String, Double> leftOver() throws IOException {
        return METERS_OF_CALLS
                .matcher(metrics())
                .results()
                .filter(line -> Double.parseDouble(line.group(2)) != 0)
                .collect(Collectors.toMap(line -> line.group(1), line -> Double.parseDouble(line.group(2))));
    }

    @Override
    public void close() throws IOException {
        echo.close();
        echoRest.close();
        wildRest.close();
        wild.close();
    }
}

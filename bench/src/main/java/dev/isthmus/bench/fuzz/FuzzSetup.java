package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    private final int port = freePort();
    private final int admin = freePort();
    private final HttpClient http = HttpClient.newHttpClient();
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
        long end = System.nanoTime() + START.toNanos();
        while (!ready()) {
            if (!gateway.alive() || System.nanoTime() > end) {
                throw gateway.failure("did not become ready");
            }
            Thread.sleep(100);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private boolean ready() throws InterruptedException {
        // A client of its own, so that its persistent connections are closed with it.
        try (HttpClient asking = HttpClient.newHttpClient()) {
            for (String model : new String[] {"echo", "echo-rest", "simple"}) {
                if (get(asking, port, "/v2/models/" + model + "/ready").statusCode() != 200) {
                    return false;
                }
            }
            return get(asking, admin, "/ready").statusCode() == 200;
        } catch (IOException e) {
            return false;
        }
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

    private static HttpResponse<String> get(HttpClient http, int at, String path)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + at + path))
                .version(HttpClient.Version.HTTP_1_1)
                .timeout(Duration.ofSeconds(10))
                .build();
        return http.send(request, HttpResponse.BodyHandlers.ofString());
    }

    String metrics() throws IOException, InterruptedException {
        return get(http, admin, "/metrics").body();
    }

    /** The sum of a metric over all series whose labels contain a text. */
    static double sum(String metrics, String name, String label) {
        Pattern line = Pattern.compile("^" + Pattern.quote(name) + "(\\{[^}]*})? (\\S+)$", Pattern.MULTILINE);
        return line.matcher(metrics)
                .results()
                .filter(found -> label.isEmpty() || found.group().contains(label))
                .mapToDouble(found -> Double.parseDouble(found.group(2)))
                .sum();
    }

    /** Heap in use after a collection, in bytes. */
    double heap() throws IOException, InterruptedException, BenchException {
        Process jcmd = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin/jcmd").toString(),
                        Long.toString(gateway.pid()),
                        "GC.run")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!jcmd.waitFor(60, TimeUnit.SECONDS) || jcmd.exitValue() != 0) {
            jcmd.destroyForcibly();
            throw gateway.failure("could not run a garbage collection");
        }
        return sum(metrics(), "jvm_memory_used_bytes", "area=\"heap\"");
    }

    /** The number of open file descriptors of the gateway, including sockets. */
    long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc", Long.toString(gateway.pid()), "fd"))) {
            return open.count();
        }
    }

    /** A field of /proc/PID/status; memory is in KiB. */
    long status(String field) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(gateway.pid()), "status"))) {
            return lines.filter(line -> line.startsWith(field + ":"))
                    .map(line -> line.replaceAll("[^0-9]", ""))
                    .mapToLong(Long::parseLong)
                    .findFirst()
                    .orElse(0);
        }
    }

    /** CPU time of the gateway's event loops in milliseconds, with a resolution of 10 ms. */
    long loopMillis() throws IOException {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Long.toString(gateway.pid()), "task"))) {
            long ticks = 0;
            for (Path task : tasks.toList()) {
                String stat = Files.readString(task.resolve("stat"));
                if (stat.contains("(isthmus-loop")) {
                    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
                    ticks += Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
                }
            }
            return ticks * 10;
        }
    }

    /** Metrics that must be 0 after all clients have disconnected, and are not: name with labels, and value. */
    Map<String, Double> leftOver() throws IOException, InterruptedException {
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
        http.close();
    }
}

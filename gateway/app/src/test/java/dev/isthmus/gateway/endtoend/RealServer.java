package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.settings.TestConfigs;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A real server of {@code conformance/start.sh} on free loopback ports, until this is closed. */
final class RealServer implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 180;
    /** This release of Triton occasionally crashes at startup, in its Python backend (lock_exception). */
    private static final int STARTS = 3;

    final String name;
    private final ProcessBuilder builder;
    private Process process;
    private int startsLeft = STARTS - 1;
    private final Path log;
    final int httpPort = freePort();
    final int grpcPort = freePort();

    RealServer(String name, Path folder) throws IOException {
        this(name, folder, Map.of());
    }

    /** A Triton with explicit model control, and these models: each of them is a process, and takes time to start. */
    static RealServer tritonWith(Path folder, String... models) throws IOException {
        return new RealServer(
                "triton", Files.createDirectories(folder), Map.of("EXPLICIT", "1", "MODELS", String.join(" ", models)));
    }

    private RealServer(String name, Path folder, Map<String, String> environment) throws IOException {
        this.name = name;
        this.log = folder.resolve(name + ".log");
        this.builder = new ProcessBuilder(Script.path("start.sh").toString(), name)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        builder.environment()
                .putAll(Map.of(
                        "HTTP_PORT", Integer.toString(httpPort),
                        "GRPC_PORT", Integer.toString(grpcPort),
                        "METRICS_PORT", Integer.toString(freePort()),
                        "REPO", folder.resolve(name).toString()));
        builder.environment().putAll(environment);
        this.process = builder.start();
    }

    /** The process id of the server itself: the script replaces itself by it. */
    long pid() {
        return process.pid();
    }

    /** The port for a protocol, grpc or rest. */
    int port(String protocol) {
        return protocol.equals("grpc") ? grpcPort : httpPort;
    }

    static int freePort() {
        return TestConfigs.unusedEndpoint().port();
    }

    synchronized void awaitReady() throws Exception {
        HttpRequest ready = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + httpPort + "/v2/health/ready"))
                .timeout(Duration.ofSeconds(5))
                .build();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        try (HttpClient client = HttpClient.newHttpClient()) {
            while (true) {
                try {
                    if (client.send(ready, HttpResponse.BodyHandlers.discarding())
                                    .statusCode()
                            == 200) {
                        return;
                    }
                } catch (IOException notYet) {
                    // Still starting.
                }
                if (!process.isAlive() && startsLeft > 0) {
                    startsLeft--;
                    process = builder.start();
                }
                if (!process.isAlive() || System.nanoTime() > deadline) {
                    throw new IllegalStateException(name + " did not become ready:\n" + Files.readString(log));
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            }
        }
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroy);
        process.destroy();
        try {
            process.onExit().orTimeout(15, TimeUnit.SECONDS).join();
        } catch (CompletionException stillThere) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
        }
    }
}

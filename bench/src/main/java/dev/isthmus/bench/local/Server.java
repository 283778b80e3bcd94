package dev.isthmus.bench.local;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A server under test, with the same models.
 *
 * @param grpcPort may equal {@code httpPort}
 */
record Server(String name, int httpPort, int grpcPort) {
    private static final Duration START = Duration.ofSeconds(90);
    private static final int PERIOD_MILLIS = 100;
    /** The packaged gateway with a model repository. */
    static Server gateway(Children children, Path home, Repository models, Path folder)
            throws IOException, BenchException, InterruptedException {
        int port = freePort();
        Path config = folder.resolve("isthmus.yaml");
        Files.writeString(config, """
                listeners: [{host: 127.0.0.1, port: %d}]
                local: {model_repository: "%s"}
                default_upstream: local
                """.formatted(port, models.folder()));
        Child process = children.java(
                "gateway",
                List.of(),
                home.resolve("gateway/app/target/dist/lib") + File.separator + "*",
                "dev.isthmus.gateway.cli.IsthmusCommand",
                List.of("serve", "--config", config.toString()));
        return new Server("Isthmus", port, port).awaitReady(process);
    }

    /**
     * MLServer with a runtime for ONNX.
     *
     * @param mlserver its virtual environment
     * @param runtime directory of the packages onnxruntime and mlserver_onnx
     * @param workers processes that run models; 0 for the server's main process
     */
    static Server mlserver(
            Children children, Path mlserver, String runtime, Repository models, Path folder, int workers)
            throws IOException, BenchException, InterruptedException {
        Server server = new Server("MLServer", freePort(), freePort());
        Files.createDirectories(folder);
        Files.writeString(
                folder.resolve("settings.json"), """
                {"host": "127.0.0.1", "http_port": %d, "grpc_port": %d, "metrics_port": %d, "metrics_endpoint": null,
                 "parallel_workers": %d, "gzip_enabled": false, "debug": false, "use_structured_logging": false}
                """.formatted(server.httpPort, server.grpcPort, freePort(), workers));
        for (Case testCase : NetworkComparison.CASES) {
            Path model = Files.createDirectories(folder.resolve(testCase.model()));
            Files.writeString(model.resolve("model-settings.json"), """
                    {"name": "%s", "implementation": "mlserver_onnx.OnnxModel", "parameters": {"uri": "%s"}}
                    """.formatted(
                            testCase.model(), models.onnx(testCase.model())));
        }
        ProcessBuilder program =
                new ProcessBuilder(mlserver.resolve("bin/mlserver").toString(), "start", folder.toString());
        program.environment().put("PYTHONPATH", runtime);
        program.directory(folder.toFile());
        return server.awaitReady(children.start("mlserver", program));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private Server awaitReady(Child process) throws BenchException, InterruptedException {
        long end = System.nanoTime() + START.toNanos();
        while (!ready()) {
            if (!process.alive() || System.nanoTime() > end) {
                throw process.failure("did not become ready");
            }
            Thread.sleep(PERIOD_MILLIS);
        }
        return this;
    }

    private boolean ready() {
        try {
            HttpURLConnection connection =
                    (HttpURLConnection) URI.create("http://127.0.0.1:" + httpPort + "/v2/health/ready")
                            .toURL()
                            .openConnection();
            connection.setReadTimeout(2_000);
            return connection.getResponseCode() == 200;
        } catch (IOException notYet) {
            return false;
        }
    }
}

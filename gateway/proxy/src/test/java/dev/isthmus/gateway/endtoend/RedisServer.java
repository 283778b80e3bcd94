package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A real Redis, on a port that it keeps when it is started again. Stores nothing on disk. */
final class RedisServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Path folder;
    private final List<String> options;
    private final int port;
    private Process process;

    private RedisServer(Path folder, List<String> options) throws IOException, InterruptedException {
        this.folder = folder;
        this.options = options;
        this.port = freePort();
        this.process = run();
    }

    /**
     * Starts it.
     *
     * @param options as on its command line, after the port
     */
    static RedisServer start(Path folder, String... options) throws IOException, InterruptedException {
        return new RedisServer(folder, List.of(options));
    }

    private Process run() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Script.folder("redis", Script.run("install.sh", "redis"))
                        .resolve("bin/redis-server")
                        .toString(),
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                folder.toString()));
        command.addAll(options);
        Process started = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("redis.log").toFile())
                .start();
        await().atMost(PATIENCE).until(() -> !started.isAlive() || accepts());
        if (!started.isAlive()) {
            throw new IOException("redis-server has ended: " + Files.readString(folder.resolve("redis.log")));
        }
        return started;
    }

    private boolean accepts() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read() > 0;
        } catch (IOException notYet) {
            return false;
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    int port() {
        return port;
    }

    /** Ends it at once, with all that it has stored. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
    }

    /** Starts it again, empty. */
    void restart() throws IOException, InterruptedException {
        process = run();
    }

    /** Stops it from running; connections stay open. */
    void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

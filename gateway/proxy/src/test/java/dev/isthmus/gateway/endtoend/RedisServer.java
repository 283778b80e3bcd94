package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.TestConfigs;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/** A real Redis, on a port that it keeps when it is started again. Stores nothing on disk. */
public final class RedisServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Path folder;
    private final @Nullable RedisTls tls;
    private final List<String> options;
    private final int port;
    private Process process;

    private RedisServer(Path folder, @Nullable RedisTls tls, List<String> options)
            throws IOException, InterruptedException {
        this.folder = folder;
        this.tls = tls;
        this.options = options;
        this.port = TestConfigs.unusedEndpoint().port();
        this.process = run();
    }

    /**
     * Starts it.
     *
     * @param options as on its command line, after the port
     */
    public static RedisServer start(Path folder, String... options) throws IOException, InterruptedException {
        return new RedisServer(folder, null, all(List.of("--save", ""), List.of(options)));
    }

    /** Starts one that accepts TLS only, and has the user 'isthmus'. */
    static RedisServer secure(Path folder, RedisTls tls, List<String> userRights, String... options)
            throws IOException, InterruptedException {
        List<String> user = all(RedisTls.user(), userRights);
        List<String> settings = all(List.of("--save", "", "--repl-diskless-sync-delay", "0"), List.of(options));
        return new RedisServer(folder, tls, all(settings, user));
    }

    /** Starts a sentinel that accepts TLS only. */
    static RedisServer sentinel(Path folder, RedisTls tls, String config) throws IOException, InterruptedException {
        Path file = Files.writeString(folder.resolve("sentinel.conf"), config);
        return new RedisServer(folder, tls, List.of(file.toString(), "--sentinel"));
    }

    private static List<String> all(List<String> first, List<String> second) {
        List<String> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    private Process run() throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Script.folder("redis", Script.run("install.sh", "redis"))
                .resolve("bin/redis-server")
                .toString());
        boolean sentinel = options.contains("--sentinel");
        command.addAll(sentinel ? options : List.of());
        command.addAll(List.of("--bind", "127.0.0.1", "--dir", folder.toString()));
        if (tls == null) {
            command.addAll(List.of("--port", Integer.toString(port)));
        } else {
            command.addAll(List.of("--port", "0", "--tls-port", Integer.toString(port)));
            command.addAll(tls.options());
        }
        command.addAll(sentinel ? List.of() : options);
        Process started = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("redis.log").toFile())
                .start();
        try {
            await().atMost(PATIENCE).until(() -> !started.isAlive() || accepts());
        } catch (ConditionTimeoutException late) {
            started.destroyForcibly();
            throw late;
        }
        if (!started.isAlive()) {
            throw new IOException("redis-server has ended: " + Files.readString(folder.resolve("redis.log")));
        }
        return started;
    }

    private boolean accepts() {
        try (Socket socket = connect()) {
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read() > 0;
        } catch (IOException notYet) {
            return false;
        }
    }

    /**
     * Runs commands on one connection.
     *
     * @param lines words of a command with spaces between them
     * @return the last answer: a text, or the first line of another form
     */
    String command(String... lines) throws IOException {
        try (Socket socket = connect()) {
            BufferedReader in = reader(socket);
            String answer = "";
            for (String line : lines) {
                socket.getOutputStream().write((line + "\r\n").getBytes(StandardCharsets.US_ASCII));
                answer = String.valueOf(in.readLine());
                if (answer.startsWith("-")) {
                    throw new IOException(line + ": " + answer);
                }
                answer = answer.startsWith("$") ? in.readLine() : answer;
            }
            return answer;
        }
    }

    /** Runs a command whose answer is a text of several lines. */
    String text(String line) throws IOException {
        try (Socket socket = connect()) {
            BufferedReader in = reader(socket);
            socket.getOutputStream().write((line + "\r\n").getBytes(StandardCharsets.US_ASCII));
            char[] text = new char[Integer.parseInt(in.readLine().substring(1))];
            int read = 0;
            while (read < text.length) {
                int more = in.read(text, read, text.length - read);
                if (more < 0) {
                    throw new EOFException(line);
                }
                read += more;
            }
            return new String(text);
        }
    }

    private Socket connect() throws IOException {
        Socket socket = tls == null ? new Socket(InetAddress.getLoopbackAddress(), port) : tls.connect(port);
        socket.setSoTimeout((int) PATIENCE.toMillis());
        return socket;
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    public int port() {
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

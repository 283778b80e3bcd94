package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** The real nginx, until this is closed. */
final class NginxServer implements AutoCloseable {
    private static final String MAIN = """
            daemon off;
            master_process off;
            pid FOLDER/nginx.pid;
            events {}
            http {
                access_log off;
                client_body_temp_path FOLDER; proxy_temp_path FOLDER; fastcgi_temp_path FOLDER;
                uwsgi_temp_path FOLDER; scgi_temp_path FOLDER;
            """;

    private final Process process;

    private NginxServer(Process process) {
        this.process = process;
    }

    /**
     * Starts it.
     *
     * @param folder for its files
     * @param http the block {@code http} of its configuration
     * @param ports those on which it listens
     */
    static NginxServer start(Path folder, String http, int... ports) throws IOException, InterruptedException {
        String program = Script.folder("nginx", Script.run("install.sh", "nginx"))
                .resolve("bin/nginx")
                .toString();
        Path file = Files.writeString(
                folder.resolve("nginx.conf"), MAIN.replace("FOLDER", folder.toString()) + http + "}\n");
        Process process = new ProcessBuilder(
                        List.of(program, "-p", folder.toString(), "-c", file.toString(), "-e", "stderr"))
                .inheritIO()
                .start();
        NginxServer server = new NginxServer(process);
        await().atMost(Duration.ofSeconds(30))
                .until(() -> !process.isAlive() || IntStream.of(ports).allMatch(NginxServer::accepts));
        return server;
    }

    private static boolean accepts(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    @Override
    public void close() {
        Script.stop(process);
    }
}

package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.settings.Endpoint;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** An HTTP/1.1 server that can misbehave on its sockets as real servers do. */
public final class FakeRestServer implements AutoCloseable {

    /** One request as it was read. */
    public record RestRequest(int connection, String head, String body) {}

    /** Handles a request. Throwing or returning false closes the connection. */
    @FunctionalInterface
    public interface Script {
        boolean respond(RestRequest request, OutputStream out) throws IOException;
    }

    private final ServerSocket socket;
    private final Script script;
    private final Thread acceptor;
    private final BlockingQueue<RestRequest> requests = new LinkedBlockingQueue<>();
    private final BlockingQueue<Integer> closed = new LinkedBlockingQueue<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();

    private FakeRestServer(int port, Script script) throws IOException {
        this(new ServerSocket(port, 50, InetAddress.getLoopbackAddress()), script);
    }

    private FakeRestServer(ServerSocket socket, Script script) {
        this.script = script;
        this.socket = socket;
        this.acceptor = Thread.ofVirtual().start(this::accept);
    }

    public static FakeRestServer that(Script script) throws IOException {
        return new FakeRestServer(0, script);
    }

    public static FakeRestServer on(int port, Script script) throws IOException {
        return new FakeRestServer(port, script);
    }

    /** On a socket that is bound already, for example one with TLS. */
    public static FakeRestServer at(ServerSocket socket, Script script) {
        return new FakeRestServer(socket, script);
    }

    /** Responds to everything with the same bytes and keeps the connection open. */
    public static FakeRestServer sending(String response) throws IOException {
        return that((request, out) -> {
            write(out, response);
            return true;
        });
    }

    /** Responds to everything with this status and error text. */
    public static FakeRestServer refusing(int status, String text) throws IOException {
        String body = "{\"error\":\"" + text + "\"}";
        return sending("HTTP/1.1 " + status + " No\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
    }

    public static void write(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.ISO_8859_1));
        out.flush();
    }

    public static String ok(String body) {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    public Endpoint endpoint() {
        return new Endpoint("127.0.0.1", socket.getLocalPort());
    }

    public int connections() {
        return connections.get();
    }

    /** The number of open connections. */
    public int open() {
        return open.size();
    }

    public RestRequest request() throws InterruptedException {
        RestRequest seen = requests.poll(20, TimeUnit.SECONDS);
        if (seen == null) {
            throw new AssertionError("the server saw no request");
        }
        return seen;
    }

    public int unread() {
        return requests.size();
    }

    /** Waits until a connection was closed by either side. */
    public void awaitConnectionClosed() throws InterruptedException {
        if (closed.poll(20, TimeUnit.SECONDS) == null) {
            throw new AssertionError("no connection was closed");
        }
    }

    private void accept() {
        while (!socket.isClosed()) {
            try {
                Socket accepted = socket.accept();
                int number = connections.incrementAndGet();
                open.add(accepted);
                if (socket.isClosed()) {
                    // Accepted while the server was closing, which may have missed it.
                    accepted.close();
                    return;
                }
                Thread.ofVirtual().start(() -> serve(accepted, number));
            } catch (IOException closed) {
                // Or a FileShortage, after which it accepts again.
            }
        }
    }

    private void serve(Socket accepted, int number) {
        try (accepted) {
            InputStream in = new BufferedInputStream(accepted.getInputStream());
            boolean more = true;
            while (more) {
                String head = head(in);
                if (head.isEmpty()) {
                    break;
                }
                RestRequest seen = new RestRequest(
                        number, head, new String(in.readNBytes(length(head)), StandardCharsets.ISO_8859_1));
                requests.add(seen);
                more = script.respond(seen, accepted.getOutputStream());
            }
        } catch (IOException e) {
            // The client has disconnected, which many tests are about.
            return;
        } finally {
            open.remove(accepted);
            closed.add(number);
        }
    }

    private static String head(InputStream in) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        int octet = in.read();
        while (octet >= 0) {
            head.write(octet);
            if (octet == '\n' && head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
                break;
            }
            octet = in.read();
        }
        return head.toString(StandardCharsets.ISO_8859_1);
    }

    private static int length(String head) {
        return head.lines()
                .map(line -> line.toLowerCase(Locale.ROOT))
                .filter(line -> line.startsWith("content-length:"))
                .mapToInt(line -> Integer.parseInt(line.substring(15).strip()))
                .findFirst()
                .orElse(0);
    }

    /** Closes every open connection, but keeps listening. */
    public void closeConnections() throws IOException {
        for (Socket connection : open) {
            connection.close();
        }
    }

    /** When this returns, connections are neither accepted nor served, and the port is free again. */
    @Override
    public void close() throws IOException {
        socket.close();
        closeConnections();
        try {
            acceptor.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

package dev.isthmus.gateway.http2;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A server on loopback that sends HTTP/2 frames, or any bytes, by a script. */
public final class RawHttp2Server implements AutoCloseable {

    /** Handles one connection, which is closed afterwards. */
    @FunctionalInterface
    public interface Script {
        void serve(RawHttp2Connection connection) throws IOException;
    }

    /** Handles one request. */
    @FunctionalInterface
    public interface Responder {
        void respond(RawHttp2Connection connection, int streamId) throws IOException;
    }

    private final Script script;
    private final ServerSocket socket;
    private final List<RawHttp2Connection> connections = new CopyOnWriteArrayList<>();
    private final AtomicInteger requests;

    public RawHttp2Server(Script script) throws IOException {
        this(script, new AtomicInteger());
    }

    private RawHttp2Server(Script script, AtomicInteger requests) throws IOException {
        this.script = script;
        this.requests = requests;
        this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    /** A server that exchanges prefaces and handles each request in the same way. */
    public static RawHttp2Server responding(Responder responder) throws IOException {
        AtomicInteger requests = new AtomicInteger();
        return new RawHttp2Server(
                connection -> {
                    connection.hello();
                    while (true) {
                        int streamId = connection.request();
                        requests.incrementAndGet();
                        responder.respond(connection, streamId);
                    }
                },
                requests);
    }

    public int port() {
        return socket.getLocalPort();
    }

    /** The number of accepted connections. */
    public int connections() {
        return connections.size();
    }

    /** The number of requests {@link #responding handled} so far, including current ones. */
    public int requests() {
        return requests.get();
    }

    /** The number of PINGs that clients have sent. */
    public int pings() {
        return connections.stream().mapToInt(RawHttp2Connection::pings).sum();
    }

    private void accept() {
        try {
            while (true) {
                RawHttp2Connection accepted = new RawHttp2Connection(socket.accept());
                connections.add(accepted);
                Thread.ofVirtual().start(() -> serve(accepted));
            }
        } catch (IOException e) {
            // Closed: the test is over.
            return;
        }
    }

    private void serve(RawHttp2Connection accepted) {
        try (accepted) {
            script.serve(accepted);
        } catch (IOException e) {
            // The client has closed.
            return;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
        for (RawHttp2Connection connection : connections) {
            connection.close();
        }
    }
}

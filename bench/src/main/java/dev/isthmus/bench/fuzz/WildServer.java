package dev.isthmus.bench.fuzz;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A V2 server on loopback that sometimes responds incorrectly. Its response to an inference depends on the seed and the
 * request, so that the same sequences of clients get the same responses.
 */
abstract class WildServer implements Closeable {
    private static final int BACKLOG = 256;

    private final long seed;
    private final ServerSocket listening = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicLong requests = new AtomicLong();

    WildServer(long seed) throws IOException {
        this.seed = seed;
    }

    final void start() {
        Thread.ofVirtual().name("fuzz-server").start(this::accept);
    }

    final int port() {
        return listening.getLocalPort();
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                open.add(socket);
                Thread.ofVirtual().name("fuzz-served").start(() -> serve(socket));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            serve(socket, new BufferedInputStream(socket.getInputStream(), 1 << 16), socket.getOutputStream());
        } catch (IOException e) {
            // the gateway closed the connection, or sent something unexpected
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            open.remove(socket);
        }
    }

    /** Serves a connection until it ends. */
    abstract void serve(Socket socket, BufferedInputStream in, OutputStream out)
            throws IOException, InterruptedException;

    /** Choices for the response to a request: for an inference always the same, otherwise different each time. */
    final SeededChoices choices(String path, int question, boolean inference) {
        long number = inference ? question : requests.incrementAndGet();
        return new SeededChoices(SeededChoices.mix(SeededChoices.mix(seed, path.hashCode()), number));
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}

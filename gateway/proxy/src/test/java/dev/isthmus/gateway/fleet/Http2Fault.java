package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** An HTTP/2 server that takes every stream badly. */
final class Http2Fault implements AutoCloseable {
    private static final int PREFACE = 24;
    private static final int HEADERS = 1;
    private static final int RST_STREAM = 3;
    private static final int SETTINGS = 4;
    private static final int GOAWAY = 7;
    private static final int REFUSED_STREAM = 7;

    /** What is done with a stream. */
    enum Kind {
        REFUSED_STREAM,
        GOAWAY,
        RESET_CONNECTION
    }

    private final Kind kind;
    private final ServerSocket socket;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger streams = new AtomicInteger();

    Http2Fault(Kind kind) throws IOException {
        this.kind = kind;
        this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    Endpoint endpoint() {
        return new Endpoint("127.0.0.1", socket.getLocalPort());
    }

    /** Streams that were opened so far. */
    int streams() {
        return streams.get();
    }

    private void accept() {
        try {
            while (true) {
                Socket accepted = socket.accept();
                open.add(accepted);
                Thread.ofVirtual().start(() -> serve(accepted));
            }
        } catch (IOException e) {
            // Closed: the test is over.
            return;
        }
    }

    private void serve(Socket accepted) {
        try (accepted) {
            var in = new DataInputStream(accepted.getInputStream());
            var out = new DataOutputStream(accepted.getOutputStream());
            in.skipNBytes(PREFACE);
            frame(out, SETTINGS, 0, 0);
            while (true) {
                int lengthAndType = in.readInt();
                int flags = in.readUnsignedByte();
                int stream = in.readInt();
                in.skipNBytes(lengthAndType >>> 8);
                int type = lengthAndType & 0xff;
                if (type == SETTINGS && flags == 0) {
                    frame(out, SETTINGS, 1, 0);
                } else if (type == HEADERS) {
                    streams.incrementAndGet();
                    fail(accepted, out, stream);
                }
            }
        } catch (IOException e) {
            // The client has gone, or was thrown out.
            return;
        } finally {
            open.remove(accepted);
        }
    }

    private void fail(Socket accepted, DataOutputStream out, int stream) throws IOException {
        switch (kind) {
            case REFUSED_STREAM -> frame(out, RST_STREAM, 0, stream, REFUSED_STREAM);
            case GOAWAY -> frame(out, GOAWAY, 0, 0, 0, 0);
            case RESET_CONNECTION -> {
                accepted.setSoLinger(true, 0);
                accepted.close();
            }
        }
    }

    private static void frame(DataOutputStream out, int type, int flags, int stream, int... payload)
            throws IOException {
        out.writeInt((payload.length * Integer.BYTES) << 8 | type);
        out.writeByte(flags);
        out.writeInt(stream);
        for (int word : payload) {
            out.writeInt(word);
        }
        out.flush();
    }

    @Override
    public void close() throws IOException {
        socket.close();
        for (Socket connection : open) {
            connection.close();
        }
    }
}

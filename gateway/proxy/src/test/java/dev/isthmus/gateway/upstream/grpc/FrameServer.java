package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.settings.Endpoint;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that sends HTTP/2 frames, or anything else, as a script wants. */
public final class FrameServer implements AutoCloseable {
    static final int DATA = 0;
    static final int HEADERS = 1;
    public static final int RST_STREAM = 3;
    static final int SETTINGS = 4;
    static final int PING = 6;
    public static final int GOAWAY = 7;
    static final int END_STREAM = 1;
    static final int END_HEADERS = 4;
    private static final int ACK = 1;
    private static final int PREFACE = 24;

    /** What is done with one connection, which is closed afterwards. */
    @FunctionalInterface
    public interface Script {
        void serve(Peer peer) throws IOException;
    }

    private final Script script;
    private final ServerSocket socket;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger pings = new AtomicInteger();

    public FrameServer(Script script) throws IOException {
        this.script = script;
        this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    /** A server that says hello and does the same with each request. */
    public static FrameServer answering(Answering answering) throws IOException {
        return new FrameServer(peer -> {
            peer.hello();
            while (true) {
                answering.answer(peer, peer.request());
            }
        });
    }

    /** What is done with one request. */
    @FunctionalInterface
    public interface Answering {
        void answer(Peer peer, int stream) throws IOException;
    }

    public Endpoint endpoint() {
        return new Endpoint("127.0.0.1", socket.getLocalPort());
    }

    int connections() {
        return connections.get();
    }

    int pings() {
        return pings.get();
    }

    private void accept() {
        try {
            while (true) {
                Socket accepted = socket.accept();
                open.add(accepted);
                connections.incrementAndGet();
                Thread.ofVirtual().start(() -> serve(accepted));
            }
        } catch (IOException e) {
            // Closed: the test is over.
            return;
        }
    }

    private void serve(Socket accepted) {
        try (accepted) {
            script.serve(new Peer(accepted));
        } catch (IOException e) {
            // The client has gone.
            return;
        } finally {
            open.remove(accepted);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
        for (Socket connection : open) {
            connection.close();
        }
    }

    /** The client's end of one connection. */
    public final class Peer {
        private final DataInputStream in;
        private final DataOutputStream out;
        boolean answersPings = true;

        Peer(Socket accepted) throws IOException {
            in = new DataInputStream(accepted.getInputStream());
            out = new DataOutputStream(accepted.getOutputStream());
        }

        /** The preface of both sides, with these settings: number and value in turn. */
        public void hello(int... settings) throws IOException {
            skipPreface();
            ByteBuffer payload = ByteBuffer.allocate(settings.length * 3);
            for (int i = 0; i < settings.length; i += 2) {
                payload.putShort((short) settings[i]).putInt(settings[i + 1]);
            }
            send(SETTINGS, 0, 0, payload.array());
        }

        void skipPreface() throws IOException {
            in.skipNBytes(PREFACE);
        }

        /** Waits for the next request's head; says its stream. */
        public int request() throws IOException {
            return await(HEADERS);
        }

        /** Waits for a frame of this type; says its stream. */
        int await(int wanted) throws IOException {
            while (true) {
                int lengthAndType = in.readInt();
                int flags = in.readUnsignedByte();
                int stream = in.readInt();
                byte[] payload = in.readNBytes(lengthAndType >>> 8);
                int type = lengthAndType & 0xff;
                if (type == SETTINGS && flags == 0) {
                    send(SETTINGS, ACK, 0);
                } else if (type == PING && flags == 0) {
                    pings.incrementAndGet();
                    if (answersPings) {
                        send(PING, ACK, 0, payload);
                    }
                }
                if (type == wanted) {
                    return stream;
                }
            }
        }

        public void headers(int stream, boolean end, String... namesAndValues) throws IOException {
            ByteArrayOutputStream block = new ByteArrayOutputStream();
            for (int i = 0; i < namesAndValues.length; i += 2) {
                block.write(0);
                text(block, namesAndValues[i]);
                text(block, namesAndValues[i + 1]);
            }
            send(HEADERS, END_HEADERS | (end ? END_STREAM : 0), stream, block.toByteArray());
        }

        private static void text(ByteArrayOutputStream block, String text) {
            block.write(text.length());
            block.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
        }

        /** The head of a good answer. */
        void head(int stream) throws IOException {
            headers(stream, false, ":status", "200", "content-type", "application/grpc");
        }

        /** A message of one byte. */
        void message(int stream) throws IOException {
            send(DATA, 0, stream, new byte[] {0, 0, 0, 0, 1, 7});
        }

        void trailers(int stream) throws IOException {
            headers(stream, true, "grpc-status", "0");
        }

        /** All of a good answer. */
        public void answer(int stream) throws IOException {
            head(stream);
            message(stream);
            trailers(stream);
        }

        public void words(int type, int stream, int... words) throws IOException {
            ByteBuffer payload = ByteBuffer.allocate(words.length * Integer.BYTES);
            for (int word : words) {
                payload.putInt(word);
            }
            send(type, 0, stream, payload.array());
        }

        void send(int type, int flags, int stream, byte... payload) throws IOException {
            out.writeInt(payload.length << 8 | type);
            out.writeByte(flags);
            out.writeInt(stream);
            out.write(payload);
            out.flush();
        }

        void raw(String text) throws IOException {
            out.write(text.getBytes(StandardCharsets.ISO_8859_1));
            out.flush();
        }

        /** Waits until the client goes. */
        public void awaitEnd() throws IOException {
            in.transferTo(OutputStream.nullOutputStream());
        }
    }
}

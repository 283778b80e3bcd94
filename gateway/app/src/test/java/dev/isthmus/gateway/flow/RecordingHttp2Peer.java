package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.Endpoint;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Exception;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One end of a connection of HTTP/2 whose frames are sent by hand, and which takes on a stream what it is told to. All that the
 * other end does on a stream is kept.
 */
final class RecordingHttp2Peer implements AutoCloseable {
    static final int WINDOW = 65_535;
    private static final int FRAME = 16_384;
    private static final int DATA = 0;
    private static final int HEADERS = 1;
    private static final int RST_STREAM = 3;
    private static final int SETTINGS = 4;
    private static final int PING = 6;
    private static final int WINDOW_UPDATE = 8;
    private static final int END_STREAM = 1;
    private static final int END_HEADERS = 4;
    private static final int NOT_RESET = -1;

    private final Socket socket;
    private final DataOutputStream out;
    private final BlockingQueue<Stream> calls;
    private final Map<Integer, Stream> streams = new ConcurrentHashMap<>();
    private final AtomicInteger pongs = new AtomicInteger();
    private int opened = -1;

    /** What the other end did on a stream, and what is done on it from here. */
    final class Stream {
        final int id;
        final Map<String, String> fields = new ConcurrentHashMap<>();
        /** Windows that were opened beyond the first one. */
        final AtomicLong credit = new AtomicLong();

        private final ByteArrayOutputStream content = new ByteArrayOutputStream();
        private volatile boolean ended;
        private volatile long reset = NOT_RESET;

        private Stream(int id) {
            this.id = id;
        }

        synchronized int received() {
            return content.size();
        }

        synchronized byte[] content() {
            return content.toByteArray();
        }

        private synchronized void add(byte[] data) {
            content.writeBytes(data);
        }

        boolean ended() {
            return ended;
        }

        boolean wasReset() {
            return reset != NOT_RESET;
        }

        /** Sends these bytes, whatever the windows. */
        void data(byte[] bytes, int from, int to, boolean end) {
            int at = from;
            while (to - at > FRAME) {
                frame(DATA, 0, id, Unpooled.wrappedBuffer(bytes, at, FRAME));
                at += FRAME;
            }
            frame(DATA, end ? END_STREAM : 0, id, Unpooled.wrappedBuffer(bytes, at, to - at));
        }

        /** Lets the other end send so many bytes more. */
        void open(int bytes) {
            frame(WINDOW_UPDATE, 0, id, Unpooled.buffer().writeInt(bytes));
        }

        void headers(boolean end, String... namesAndValues) {
            frame(HEADERS, END_HEADERS | (end ? END_STREAM : 0), id, block(namesAndValues));
        }

        void reset() {
            frame(RST_STREAM, 0, id, Unpooled.buffer().writeInt(8));
        }

        /** Waits until the other side has reset it, which did not end it before. */
        void awaitReset() {
            await().atMost(Duration.ofSeconds(30)).until(this::wasReset);
            assertThat(ended()).isFalse();
        }

        /** Answers an inference with a number, and ends it. */
        void answer(String id) {
            byte[] framed = Infer.framed(Infer.answer(Infer.request("m", id, 0), 1));
            headers(false, ":status", "200", "content-type", "application/grpc");
            data(framed, 0, framed.length, false);
            headers(true, "grpc-status", "0");
        }

        /** Waits for the end of the other side, and tells the status. */
        String status() {
            await().atMost(Duration.ofSeconds(30)).until(() -> fields.containsKey("grpc-status"));
            return fields.getOrDefault("grpc-status", "");
        }
    }

    private RecordingHttp2Peer(Socket socket, BlockingQueue<Stream> calls) throws IOException {
        this.socket = socket;
        this.out = new DataOutputStream(socket.getOutputStream());
        this.calls = calls;
    }

    /** A connection to a server. */
    static RecordingHttp2Peer client(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        RecordingHttp2Peer peer = new RecordingHttp2Peer(socket, new LinkedBlockingQueue<>());
        peer.out.write(ByteBufUtil.getBytes(Http2CodecUtil.connectionPrefaceBuf()));
        peer.frame(SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER);
        Thread.ofVirtual().start(() -> peer.read(0));
        return peer;
    }

    /** Opens a call of ModelInfer. */
    Stream infer(String... namesAndValues) {
        opened += 2;
        Stream stream = stream(opened);
        String[] fields = {
            ":method", "POST", ":scheme", "http", ":path", "/inference.GRPCInferenceService/ModelInfer",
            ":authority", "a", "content-type", "application/grpc", "te", "trailers"
        };
        stream.headers(
                false,
                java.util.stream.Stream.concat(List.of(fields).stream(), List.of(namesAndValues).stream())
                        .toArray(String[]::new));
        return stream;
    }

    /** Waits until the other end has read what was sent. */
    void ping() {
        int before = pongs.get();
        frame(PING, 0, 0, Unpooled.buffer().writeLong(before));
        await().atMost(Duration.ofSeconds(30)).until(() -> pongs.get() > before);
    }

    private Stream stream(int id) {
        return streams.computeIfAbsent(id, Stream::new);
    }

    private static ByteBuf block(String... namesAndValues) {
        ByteBuf block = Unpooled.buffer();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            block.writeByte(0);
            for (String text : List.of(namesAndValues[i], namesAndValues[i + 1])) {
                block.writeByte(text.length()).writeCharSequence(text, StandardCharsets.ISO_8859_1);
            }
        }
        return block;
    }

    private synchronized void frame(int type, int flags, int stream, ByteBuf payload) {
        try {
            out.writeInt(payload.readableBytes() << 8 | type);
            out.writeByte(flags);
            out.writeInt(stream);
            payload.readBytes(out, payload.readableBytes());
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void read(int preface) {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();
            in.skipNBytes(preface);
            while (true) {
                int lengthAndType = in.readInt();
                int flags = in.readUnsignedByte();
                int stream = in.readInt();
                byte[] payload = in.readNBytes(lengthAndType >>> 8);
                heard(decoder, lengthAndType & 0xff, flags, stream, payload);
            }
        } catch (IOException | UncheckedIOException | Http2Exception e) {
            // The other end has gone, or the test is over.
            return;
        }
    }

    private void heard(DefaultHttp2HeadersDecoder decoder, int type, int flags, int id, byte[] payload)
            throws Http2Exception {
        switch (type) {
            case DATA -> {
                stream(id).add(payload);
                // The connection's window is never what is waited for.
                if (payload.length > 0) {
                    frame(WINDOW_UPDATE, 0, 0, Unpooled.buffer().writeInt(payload.length));
                }
            }
            case HEADERS -> {
                Map<String, String> fields = new HashMap<>();
                decoder.decodeHeaders(id, Unpooled.wrappedBuffer(payload))
                        .forEach(field -> fields.put(
                                field.getKey().toString(), field.getValue().toString()));
                fields(stream(id), fields);
            }
            case RST_STREAM ->
                stream(id).reset = Unpooled.wrappedBuffer(payload).readUnsignedInt();
            case SETTINGS -> {
                if ((flags & 1) == 0) {
                    frame(SETTINGS, 1, 0, Unpooled.EMPTY_BUFFER);
                }
            }
            case PING -> {
                if ((flags & 1) == 0) {
                    frame(PING, 1, 0, Unpooled.wrappedBuffer(payload));
                } else {
                    pongs.incrementAndGet();
                }
            }
            case WINDOW_UPDATE ->
                stream(id).credit.addAndGet(Unpooled.wrappedBuffer(payload).readInt());
            default -> {}
        }
        if ((type == DATA || type == HEADERS) && (flags & END_STREAM) != 0) {
            stream(id).ended = true;
        }
    }

    private void fields(Stream stream, Map<String, String> fields) {
        stream.fields.putAll(fields);
        String path = fields.get(":path");
        if (path == null) {
            return;
        }
        if (path.endsWith("/ModelInfer")) {
            calls.add(stream);
        } else {
            // The gateway's own questions.
            stream.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12");
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /** A server on such connections. */
    static final class Server implements AutoCloseable {
        private static final int PREFACE = 24;
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<RecordingHttp2Peer> connections = new CopyOnWriteArrayList<>();
        /** Calls of ModelInfer in the order in which they came. */
        final BlockingQueue<Stream> calls = new LinkedBlockingQueue<>();

        Server() throws IOException {
            Thread.ofVirtual().start(this::accept);
        }

        Endpoint endpoint() {
            return new Endpoint("127.0.0.1", listening.getLocalPort());
        }

        Stream call() throws InterruptedException {
            return OipServer.next(calls);
        }

        private void accept() {
            try {
                while (true) {
                    Socket socket = listening.accept();
                    socket.setTcpNoDelay(true);
                    RecordingHttp2Peer peer = new RecordingHttp2Peer(socket, calls);
                    connections.add(peer);
                    peer.frame(SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER);
                    Thread.ofVirtual().start(() -> peer.read(PREFACE));
                }
            } catch (IOException e) {
                // Closed: the test is over.
                return;
            }
        }

        @Override
        public void close() throws IOException {
            listening.close();
            for (RecordingHttp2Peer connection : connections) {
                connection.close();
            }
        }
    }
}

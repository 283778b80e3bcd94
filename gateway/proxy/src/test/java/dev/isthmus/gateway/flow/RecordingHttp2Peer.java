package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.http2.RawFrames;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One end of an HTTP/2 connection that the test drives frame by frame, including what it reads of each stream. Records
 * everything the other end does on a stream.
 */
final class RecordingHttp2Peer implements AutoCloseable {
    static final int WINDOW = 65_535;
    private static final int FRAME = 16_384;
    private static final int NOT_RESET = -1;

    private final RawHttp2Connection connection;
    private final BlockingQueue<Stream> calls;
    private final Map<Integer, Stream> streams = new ConcurrentHashMap<>();
    private final AtomicInteger pongs = new AtomicInteger();
    private int opened = -1;

    /** Records what the other end did on a stream, and sends frames on it. */
    final class Stream {
        final int id;
        final Map<String, String> fields = new ConcurrentHashMap<>();
        /** WINDOW_UPDATE increments beyond the initial window. */
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

        /** Sends these bytes regardless of the windows. */
        void data(byte[] bytes, int from, int to, boolean end) {
            int at = from;
            while (to - at > FRAME) {
                write(RawFrames.data(id, Unpooled.wrappedBuffer(bytes, at, FRAME), false));
                at += FRAME;
            }
            write(RawFrames.data(id, Unpooled.wrappedBuffer(bytes, at, to - at), end));
        }

        /** Lets the other end send this many more bytes. */
        void open(int bytes) {
            write(RawFrames.windowUpdate(id, bytes));
        }

        void headers(boolean end, String... namesAndValues) {
            write(RawFrames.headers(id, end, namesAndValues));
        }

        void reset() {
            write(RawFrames.frame(
                    Http2FrameTypes.RST_STREAM, 0, id, Unpooled.buffer().writeInt(8)));
        }

        /** Waits until the other end has reset the stream without ending it. */
        void awaitReset() {
            await().atMost(Duration.ofSeconds(30)).until(this::wasReset);
            assertThat(ended()).isFalse();
        }

        /** Responds to an inference with a number, and ends it. */
        void respond(String id) {
            byte[] framed = Infer.framed(Infer.responseTo(Infer.request("", id, 0), 1));
            headers(false, ":status", "200", "content-type", "application/grpc");
            data(framed, 0, framed.length, false);
            headers(true, "grpc-status", "0");
        }

        /** Waits for the end of the stream and returns the status. */
        String status() {
            await().atMost(Duration.ofSeconds(30)).until(() -> fields.containsKey("grpc-status"));
            return fields.getOrDefault("grpc-status", "");
        }
    }

    private RecordingHttp2Peer(RawHttp2Connection connection, BlockingQueue<Stream> calls) {
        this.connection = connection;
        this.calls = calls;
    }

    /** A connection to a server. */
    static RecordingHttp2Peer client(int port) throws IOException {
        RecordingHttp2Peer peer = new RecordingHttp2Peer(RawHttp2Connection.connect(port), new LinkedBlockingQueue<>());
        Thread.ofVirtual().start(() -> {
            try {
                peer.read();
            } catch (IOException e) {
                // The gateway has disconnected, or the test is over.
                return;
            }
        });
        return peer;
    }

    /** Opens a call of ModelInfer. */
    Stream infer(String... namesAndValues) {
        opened += 2;
        Stream stream = stream(opened);
        write(RawFrames.call(stream.id, "ModelInfer", namesAndValues));
        return stream;
    }

    /** Waits until the other end has read what was sent. */
    void ping() {
        int before = pongs.get();
        write(RawFrames.frame(Http2FrameTypes.PING, 0, 0, Unpooled.buffer().writeLong(before)));
        await().atMost(Duration.ofSeconds(30)).until(() -> pongs.get() > before);
    }

    private Stream stream(int id) {
        return streams.computeIfAbsent(id, Stream::new);
    }

    private void write(ByteBuf bytes) {
        try {
            connection.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void read() throws IOException {
        DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();
        try (connection) {
            while (true) {
                heard(decoder, connection.next());
            }
        } catch (Http2Exception e) {
            throw new IOException(e);
        }
    }

    private void heard(DefaultHttp2HeadersDecoder decoder, RawFrame frame) throws IOException, Http2Exception {
        Stream stream = stream(frame.streamId());
        switch (frame.type()) {
            case Http2FrameTypes.DATA -> {
                stream.add(ByteBufUtil.getBytes(frame.payload()));
                // The connection's window never limits the other end.
                if (frame.length() > 0) {
                    connection.write(RawFrames.windowUpdate(0, frame.length()));
                }
            }
            case Http2FrameTypes.HEADERS -> {
                Map<String, String> fields = new HashMap<>();
                decoder.decodeHeaders(stream.id, frame.payload())
                        .forEach(field -> fields.put(
                                field.getKey().toString(), field.getValue().toString()));
                fields(stream, fields);
            }
            case Http2FrameTypes.RST_STREAM -> stream.reset = frame.payload().readUnsignedInt();
            case Http2FrameTypes.PING -> pongs.addAndGet(frame.isAck() ? 1 : 0);
            case Http2FrameTypes.WINDOW_UPDATE ->
                stream.credit.addAndGet(frame.payload().readInt());
            default -> {}
        }
        if (frame.endsStream()) {
            stream.ended = true;
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
            // The gateway's own requests.
            stream.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12");
        }
    }

    @Override
    public void close() throws IOException {
        connection.close();
    }

    /** A server on these connections. */
    static final class Server implements AutoCloseable {
        /** Calls of ModelInfer in the order of arrival. */
        final BlockingQueue<Stream> calls = new LinkedBlockingQueue<>();

        private final RawHttp2Server server = new RawHttp2Server(connection -> {
            connection.hello();
            new RecordingHttp2Peer(connection, calls).read();
        });

        Server() throws IOException {}

        Endpoint endpoint() {
            return TestConfigs.loopback(server.port());
        }

        Stream call() throws InterruptedException {
            return FakeGrpcServer.next(calls);
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }
}

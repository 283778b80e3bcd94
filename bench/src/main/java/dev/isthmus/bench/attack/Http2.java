package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * An HTTP/2 connection that writes any frames, respects the peer's windows only in {@link #data}, and records how
 * streams ended. It never sends WINDOW_UPDATE.
 */
final class Http2 extends NonBlockingConnection {
    /** Bytes kept of a frame; header blocks of the servers here are shorter. */
    private static final int KEPT = 16 * 1024;

    private static final int DEFAULT_WINDOW = 65_535;
    private static final int MAX_FRAME = 16 * 1024;

    private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
    private final byte[] head = new byte[FrameBytes.HEAD];
    private final ByteArrayOutputStream payload = new ByteArrayOutputStream();
    private final Map<Integer, Integer> sent = new HashMap<>();
    private final Map<Integer, Integer> enlarged = new HashMap<>();
    private final Map<Integer, String> ends = new HashMap<>();
    private final Set<Integer> settings = new HashSet<>();
    private long connectionWindow = DEFAULT_WINDOW;
    private int streamWindow = DEFAULT_WINDOW;
    private int headAt;
    private int left;
    private String goAway = "";

    /** Connects and waits for the server's SETTINGS. */
    Http2(int port) throws IOException, InterruptedException {
        this(port, DEFAULT_WINDOW);
    }

    /** Connects with this initial window for streams, and waits for the server's SETTINGS. */
    Http2(int port, int window) throws IOException, InterruptedException {
        super(port);
        write(FrameBytes.hello(window), 2_000);
        await(() -> settings.contains(0) && settings.contains(FrameBytes.ACK), 2_000);
    }

    @Override
    void received(ByteBuffer bytes) {
        while (bytes.hasRemaining()) {
            if (headAt < head.length) {
                head[headAt++] = bytes.get();
                if (headAt == head.length) {
                    left = (head[0] & 0xff) << 16 | (head[1] & 0xff) << 8 | head[2] & 0xff;
                    payload.reset();
                }
            } else {
                int count = Math.min(left, bytes.remaining());
                byte[] part = new byte[Math.min(count, KEPT - payload.size())];
                int next = bytes.position() + count;
                bytes.get(part);
                payload.writeBytes(part);
                bytes.position(next);
                left -= count;
            }
            if (headAt == head.length && left == 0) {
                headAt = 0;
                frame(head[3], head[4], ByteBuffer.wrap(head).getInt(5), payload.toByteArray());
            }
        }
    }

    private void frame(int type, int flags, int stream, byte[] bytes) {
        boolean last = (flags & FrameBytes.END_STREAM) != 0;
        switch (type) {
            case FrameBytes.SETTINGS -> settings(flags, bytes);
            case FrameBytes.WINDOW_UPDATE -> {
                int more = ByteBuffer.wrap(bytes).getInt();
                if (stream == 0) {
                    connectionWindow += more;
                } else {
                    enlarged.merge(stream, more, Integer::sum);
                }
            }
            case FrameBytes.HEADERS -> headers(stream, last, bytes);
            case FrameBytes.DATA -> {
                if (last) {
                    ends.putIfAbsent(stream, "end");
                }
            }
            case FrameBytes.RST_STREAM ->
                ends.putIfAbsent(stream, "reset " + ByteBuffer.wrap(bytes).getInt());
            case FrameBytes.GOAWAY ->
                goAway = "GOAWAY " + ByteBuffer.wrap(bytes).getInt(4);
            default -> {} // ignored
        }
    }

    private void settings(int flags, byte[] bytes) {
        settings.add(flags);
        for (int at = 0; flags == 0 && at + 6 <= bytes.length; at += 6) {
            if (bytes[at + 1] == 4) {
                streamWindow = ByteBuffer.wrap(bytes).getInt(at + 2);
            }
        }
        if (flags == 0) {
            offer(ByteBuffer.wrap(FrameBytes.frame(FrameBytes.SETTINGS, FrameBytes.ACK, 0, new byte[0])));
        }
    }

    private void headers(int stream, boolean last, byte[] block) {
        try {
            Http2Headers headers = decoder.decodeHeaders(stream, Unpooled.wrappedBuffer(block));
            CharSequence grpc = headers.get("grpc-status");
            CharSequence http = headers.status();
            if (last) {
                ends.putIfAbsent(stream, grpc != null ? "grpc-status " + grpc : String.valueOf(http));
            }
        } catch (Http2Exception e) {
            ends.putIfAbsent(stream, "unreadable");
        }
    }

    /**
     * Sends DATA within the peer's windows; returns false if the stream or connection ended or made no progress for 5
     * s.
     */
    boolean data(int stream, byte[] bytes, boolean end) throws InterruptedException {
        int at = 0;
        do {
            int wanted = Math.min(MAX_FRAME, bytes.length - at);
            poll();
            boolean room = wanted == 0 || await(() -> ended(stream) || window(stream) > 0, 5_000);
            if (!room || ended(stream) || !isOpen()) {
                return false;
            }
            int count = Math.clamp(window(stream), 0, wanted);
            boolean last = end && at + count == bytes.length;
            byte[] part = Arrays.copyOfRange(bytes, at, at + count);
            if (!write(FrameBytes.frame(FrameBytes.DATA, last ? FrameBytes.END_STREAM : 0, stream, part), 5_000)) {
                return false;
            }
            sent.merge(stream, count, Integer::sum);
            connectionWindow -= count;
            at += count;
        } while (at < bytes.length);
        return true;
    }

    private long window(int stream) {
        return Math.min(
                connectionWindow,
                (long) streamWindow + enlarged.getOrDefault(stream, 0) - sent.getOrDefault(stream, 0));
    }

    boolean ended(int stream) {
        return ends.containsKey(stream);
    }

    int endedStreams() {
        return ends.size();
    }

    /** Adds the ends of the streams and of the connection to the counts. */
    void count(AttackResult.Counts counts) {
        ends.values().forEach(counts::add);
        counts.add(!goAway.isEmpty() ? goAway : isOpen() ? "open" : "closed");
    }

    boolean wentAway() {
        return !goAway.isEmpty() || !isOpen();
    }
}

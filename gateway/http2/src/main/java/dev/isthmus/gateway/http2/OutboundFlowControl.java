package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2Error;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends DATA within the peer's windows and while the channel is writable (RFC 9113, 5.2). Other data is queued by
 * stream; streams that can send are served round-robin, one frame each.
 */
final class OutboundFlowControl {
    /** Queued bytes from which a stream is not writable. */
    static final int QUEUE_LIMIT = 64 * 1024;

    /** Largest payload in bytes. Larger frames delay other streams and save nothing. */
    private static final int MAX_FRAME = 128 * 1024;

    /** Queued bytes that one flush writes, so that a large message is one call to the socket. */
    private static final int MAX_FLUSH = 1024 * 1024;

    private final Http2Session session;
    private final FrameWriter writer;
    private final Channel channel;
    private final AbuseDetector abuse;
    private final ArrayDeque<Http2Stream> ring = new ArrayDeque<>();
    private List<Http2Stream> awaiting = new ArrayList<>(0);
    private int window = Http2Options.DEFAULT_WINDOW;
    private int streamWindow = Http2Options.DEFAULT_WINDOW;
    private int maxFrame = Http2Options.DEFAULT_FRAME_SIZE;

    OutboundFlowControl(Http2Session session, FrameWriter writer, Channel channel, AbuseDetector abuse) {
        this.session = session;
        this.writer = writer;
        this.channel = channel;
        this.abuse = abuse;
    }

    /** The initial send window of a new stream. */
    int streamWindow() {
        return streamWindow;
    }

    /** The peer's SETTINGS_MAX_FRAME_SIZE. */
    void peerFrameSize(int size) {
        maxFrame = Math.min(size, MAX_FRAME);
    }

    /** The peer's SETTINGS_INITIAL_WINDOW_SIZE, which also changes the windows of open streams (RFC 9113, 6.9.2). */
    void peerStreamWindow(int size) {
        int by = size - streamWindow;
        streamWindow = size;
        for (Http2Stream stream : session.streams().all()) {
            if (!stream.moveSendWindow(by)) {
                throw new Http2Violation(
                        Http2Error.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE makes a window too large");
            }
            addToRing(stream);
        }
    }

    void peerWindow(int increment) {
        if ((long) window + increment > Integer.MAX_VALUE) {
            throw new Http2Violation(
                    Http2Error.FLOW_CONTROL_ERROR, "WINDOW_UPDATE makes the connection's window too large");
        }
        window += increment;
        session.flusher().schedule();
    }

    /** Increases a stream's window; returns false if it would be too large. */
    boolean peerWindow(Http2Stream stream, int increment) {
        if (!stream.moveSendWindow(increment)) {
            return false;
        }
        addToRing(stream);
        return true;
    }

    void headers(Http2Stream stream, HeaderFieldList fields, boolean end) {
        SendQueue queue = stream.queue();
        if (end) {
            stream.set(StreamFlag.COMPLETE);
        }
        if (queue != null && end) {
            queue.end(fields);
            return;
        }
        session.countQueuedFrame();
        writer.headers(stream.id(), fields, end);
        session.flusher().schedule();
        if (end) {
            session.localEnded(stream);
        }
    }

    /** @param data taken */
    void data(Http2Stream stream, ByteBuf data, boolean end) {
        if (end) {
            stream.set(StreamFlag.COMPLETE);
        }
        int length = data.readableBytes();
        if (stream.queue() == null && canWriteNow(stream, length)) {
            writeNow(stream, data, length, end);
        } else {
            queue(stream, data, end);
        }
    }

    private boolean canWriteNow(Http2Stream stream, int length) {
        if (length == 0) {
            return true;
        }
        boolean fair = length <= FrameWriter.SMALL || (length <= maxFrame && ring.isEmpty());
        return fair && length <= window && length <= stream.sendWindow() && channel.isWritable();
    }

    private void writeNow(Http2Stream stream, ByteBuf data, int length, boolean end) {
        if (length > 0 || end) {
            frame(stream, length, end);
            writer.payload(data, length);
            session.flusher().schedule();
        }
        data.release();
        if (end) {
            session.localEnded(stream);
        }
    }

    private void queue(Http2Stream stream, ByteBuf data, boolean end) {
        SendQueue queue = stream.queueOrNew();
        queue.add(data);
        if (end) {
            queue.end();
        }
        addToRing(stream);
    }

    /** Adds a stream to the ring if it can send. */
    private void addToRing(Http2Stream stream) {
        if (stream.queue() != null && stream.sendWindow() > 0 && !stream.is(StreamFlag.IN_RING)) {
            stream.set(StreamFlag.IN_RING);
            ring.add(stream);
            session.flusher().schedule();
        }
    }

    /** Writes queued data if the channel is writable, until the ring is empty or the window is exhausted. */
    void writeQueued() {
        int least = channel.isWritable() ? window - MAX_FLUSH : window;
        while (window > 0 && window > least) {
            Http2Stream stream = ring.poll();
            if (stream == null) {
                return;
            }
            stream.clear(StreamFlag.IN_RING);
            SendQueue queue = stream.queue();
            if (queue != null && stream.sendWindow() > 0) {
                writeFrame(stream, queue);
            }
        }
    }

    private void writeFrame(Http2Stream stream, SendQueue queue) {
        int allowed = Math.min(maxFrame, Math.min(window, stream.sendWindow()));
        int length = (int) Math.min(queue.bytes(), allowed);
        boolean last = length == queue.bytes();
        frame(stream, length, last && queue.ends());
        queue.write(writer, length);
        if (!last) {
            addToRing(stream);
            return;
        }
        stream.dropQueue();
        HeaderFieldList trailers = queue.trailers();
        if (trailers != null) {
            writer.headers(stream.id(), trailers, true);
        }
        if (trailers != null || queue.ends()) {
            session.localEnded(stream);
        }
    }

    private void frame(Http2Stream stream, int length, boolean end) {
        writer.dataHead(stream.id(), length, end);
        window -= length;
        stream.sent(length);
        if (length > 0) {
            stream.set(StreamFlag.DATA_SENT);
            abuse.progress();
        }
    }

    boolean writable(Http2Stream stream) {
        if (channel.isWritable() && stream.queued() < QUEUE_LIMIT) {
            return true;
        }
        if (!stream.is(StreamFlag.AWAITING) && !stream.is(StreamFlag.CLOSED)) {
            stream.set(StreamFlag.AWAITING);
            awaiting.add(stream);
        }
        return false;
    }

    /** Notifies the waiting streams that have become writable. */
    void notifyWritable() {
        if (awaiting.isEmpty() || !channel.isWritable()) {
            return;
        }
        List<Http2Stream> waiting = awaiting;
        awaiting = new ArrayList<>(waiting.size());
        for (Http2Stream stream : waiting) {
            if (stream.is(StreamFlag.CLOSED)) {
                continue;
            }
            if (stream.queued() < QUEUE_LIMIT) {
                stream.clear(StreamFlag.AWAITING);
                session.becameWritable(stream);
            } else {
                awaiting.add(stream);
            }
        }
    }

    /** The stream has ended: drops its queue and its entries in the ring and among the waiting. */
    void remove(Http2Stream stream) {
        stream.dropQueue();
        if (stream.is(StreamFlag.IN_RING)) {
            ring.remove(stream);
        }
        if (stream.is(StreamFlag.AWAITING)) {
            awaiting.remove(stream);
        }
    }
}

package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Records the events of a stream. */
class RecordingStreamListener implements StreamListener {
    final CompletableFuture<RecordingStreamListener> done = new CompletableFuture<>();
    final List<Http2Headers> headers = new ArrayList<>();
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    final List<String> events = new ArrayList<>();

    @Nullable
    Http2Stream stream;

    @Nullable
    StreamEnd closed;

    int parts;
    int writable;
    boolean consumes = true;
    PeerWait awaited = PeerWait.NOTHING;
    /** What it does with data. */
    Runnable onData = () -> {};
    /** What it does when it may write again. */
    Runnable onWritable = () -> {};
    /** Responds to a timeout. */
    Runnable onTimeout = () -> {};

    @Override
    public PeerWait awaited() {
        return awaited;
    }

    @Override
    public void peerTimedOut(TimeoutRule rule) {
        events.add("timeout " + rule.label());
        onTimeout.run();
    }

    @Override
    public void headers(Http2Headers received, boolean end) {
        headers.add(received);
        events.add("headers" + (end ? " end" : ""));
        ended(end);
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        int length = data.readableBytes();
        byte[] bytes = new byte[length];
        data.readBytes(bytes);
        body.writeBytes(bytes);
        data.release();
        parts++;
        onData.run();
        if (consumes && stream != null) {
            stream.consumed(length);
        }
        if (end) {
            events.add("data end");
        }
        ended(end);
    }

    @Override
    public void writabilityChanged() {
        writable++;
        onWritable.run();
    }

    @Override
    public void closed(StreamEnd end) {
        closed = end;
        events.add("closed " + end.kind() + " " + end.errorCode());
        done.complete(this);
    }

    private void ended(boolean end) {
        if (end) {
            done.complete(this);
        }
    }

    /** Waits for the end. */
    RecordingStreamListener await() throws Exception {
        return done.get(30, TimeUnit.SECONDS);
    }
}

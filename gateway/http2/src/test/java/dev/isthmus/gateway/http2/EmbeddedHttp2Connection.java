package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One of our connections without a socket, with a manual clock. */
final class EmbeddedHttp2Connection implements AutoCloseable {
    final List<RecordingStreamListener> heard = new ArrayList<>();
    final List<String> connectionEvents = new ArrayList<>();
    final Http2Connection connection;
    final EmbeddedChannel channel;
    private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
    private long now;

    private EmbeddedHttp2Connection(
            boolean server, Http2Options options, Function<Http2Stream, StreamListener> accept) {
        connection = new Http2Connection(server, options, accept, new Events(), () -> now);
        channel = new EmbeddedChannel(connection);
        // Turns have no time limit here, only that of parts.
        channel.freezeTime();
    }

    static EmbeddedHttp2Connection server(Http2Options options) {
        List<RecordingStreamListener> heard = new ArrayList<>();
        EmbeddedHttp2Connection bench = new EmbeddedHttp2Connection(true, options, stream -> {
            RecordingStreamListener listener = new RecordingStreamListener();
            listener.stream = stream;
            heard.add(listener);
            return listener;
        });
        return bench.sharing(heard);
    }

    static EmbeddedHttp2Connection server(Function<Http2Stream, StreamListener> accept) {
        return new EmbeddedHttp2Connection(true, BothRolesTest.OPTIONS, accept);
    }

    static EmbeddedHttp2Connection client(Http2Options options) {
        return new EmbeddedHttp2Connection(false, options, stream -> NoopStreamListener.INSTANCE);
    }

    private @Nullable List<RecordingStreamListener> accepted;

    private EmbeddedHttp2Connection sharing(List<RecordingStreamListener> listeners) {
        accepted = listeners;
        return this;
    }

    /** The listener of the n-th request. */
    RecordingStreamListener request(int n) {
        return accepted == null ? heard.get(n) : accepted.get(n);
    }

    int requests() {
        return accepted == null ? 0 : accepted.size();
    }

    /** Exchanges prefaces and SETTINGS. */
    EmbeddedHttp2Connection ready() {
        if (connection.isServer()) {
            send(RawFrames.preface());
        }
        send(RawFrames.settings());
        written();
        return this;
    }

    /** Opens a stream as a client. */
    RecordingStreamListener ask(boolean end) {
        RecordingStreamListener listener = new RecordingStreamListener();
        listener.stream = connection.open(BothRolesTest.HEAD, end, listener);
        heard.add(listener);
        return listener;
    }

    /** @param bytes taken */
    EmbeddedHttp2Connection send(ByteBuf... bytes) {
        for (ByteBuf each : bytes) {
            channel.writeInbound(each);
        }
        channel.runPendingTasks();
        return this;
    }

    void later(long seconds) {
        now += seconds * 1_000_000_000L;
    }

    List<String> written() {
        channel.runPendingTasks();
        return RawFrames.written(channel, decoder);
    }

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }

    private final class Events implements ConnectionListener {
        @Override
        public void ready() {
            connectionEvents.add("ready");
        }

        @Override
        public void goingAway(long errorCode) {
            connectionEvents.add("goingAway " + errorCode);
        }

        @Override
        public void abused(AbuseRule rule, String what) {
            connectionEvents.add("abused " + rule);
        }

        @Override
        public void closed(@Nullable Throwable cause) {
            connectionEvents.add("closed" + (cause == null ? "" : " " + cause.getMessage()));
        }
    }
}

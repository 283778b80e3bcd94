package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.http2.AbuseRule;
import dev.isthmus.gateway.http2.ConnectionListener;
import dev.isthmus.gateway.http2.Http2Connection;
import dev.isthmus.gateway.http2.Http2Options;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.ConnectionCounts.ServerCloseCause;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.ConnectionRules;
import dev.isthmus.oip.OipException;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One connection to a server and its keepalive: streams are opened once its SETTINGS have arrived, and while calls are
 * active a server that is silent for long must answer a PING. Used on the event loop of its pool.
 */
final class GrpcConnection implements ConnectionListener {
    /** The initial stream window; {@link GrpcCall} widens it. */
    private static final int STREAM_WINDOW = 64 << 10;

    private static final int CONNECTION_WINDOW = 4 << 20;
    /** Large, so that large tensors arrive in few frames. */
    private static final int MAX_FRAME = 1 << 20;

    /**
     * Of a header block. Error texts of servers, such as Python's tracebacks, may be long; a block beyond this ends its
     * stream, and one that is larger as sent closes the connection, because decoding it would take unlimited memory.
     */
    private static final int MAX_HEAD = 1 << 20;

    /** Of the idle time after two PINGs: servers close a connection at more, unless they are five minutes apart. */
    private static final int SPACING = 12;

    private final GrpcConnectionPool pool;
    private final ConnectionRules rules;
    private final Http2Connection http2;
    private @Nullable Channel channel;
    /** For SETTINGS, the idle time before a PING, or the PING's acknowledgement. */
    private @Nullable Future<?> timer;

    private boolean received;
    /** PINGs since the server has sent anything else than their acknowledgements. */
    private int pings;

    private boolean settingsReceived;
    private boolean used;
    private long idleSince = System.nanoTime();

    GrpcConnection(GrpcConnectionPool pool, ConnectionRules rules) {
        this.pool = pool;
        this.rules = rules;
        Http2Options options = new Http2Options(
                STREAM_WINDOW,
                CONNECTION_WINDOW,
                MAX_FRAME,
                0,
                MAX_HEAD,
                Integer.MAX_VALUE,
                pool.settings().abuse().limits());
        this.http2 = Http2Connection.client(options, this);
    }

    void join(ChannelPipeline pipeline) {
        channel = pipeline.channel();
        pool.opening(pipeline.channel(), this::use);
        pipeline.addLast(new ServerListener()).addLast(http2);
    }

    private ConnectionUse use() {
        int streams = http2.openStreams();
        return new ConnectionUse(
                "HTTP/2", streams, streams > 0 ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - idleSince));
    }

    /** The channel is connected: starts the timeout for SETTINGS. */
    void awaitSettings() {
        if (!settingsReceived) {
            timer = pool.loop().schedule(http2::close, rules.pingTimeout().toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void ready() {
        settingsReceived = true;
        stopTimer();
        pool.ready(this);
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    /** Opens a stream for the call; false if the connection accepts no more streams. */
    boolean openStream(GrpcCall call) {
        if (!http2.acceptsStreams() || !call.openOn(http2)) {
            return false;
        }
        used = true;
        if (timer == null) {
            watch();
        }
        return true;
    }

    /** Whether it has carried a call. */
    boolean used() {
        return used;
    }

    private void watch() {
        received = false;
        long idle = rules.pingIdle().toNanos() * (pings < 2 ? 1 : SPACING);
        timer = pool.loop().schedule(this::idleTimeout, idle, TimeUnit.NANOSECONDS);
    }

    private void idleTimeout() {
        timer = null;
        pings = received ? 0 : pings;
        if (http2.openStreams() == 0) {
            return;
        }
        if (received) {
            watch();
        } else {
            pings++;
            http2.ping(this::pingAcknowledged);
            timer = pool.loop().schedule(this::pingTimeout, rules.pingTimeout().toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    private void pingTimeout() {
        if (received) {
            watch();
        } else {
            closing(ServerCloseCause.UNRESPONSIVE);
            http2.closeWith(pool.failures().pingTimeout(rules.pingTimeout()));
        }
    }

    private void closing(ServerCloseCause cause) {
        if (channel != null) {
            ConnectionCounts.closing(channel, cause);
        }
    }

    private void pingAcknowledged() {
        stopTimer();
        if (http2.openStreams() > 0) {
            watch();
        }
    }

    @Override
    public void goingAway(long errorCode) {
        leave(ServerCloseCause.SERVER);
    }

    /** Opens no more streams, and closes when those that are open have ended. */
    void retire() {
        leave(ServerCloseCause.GATEWAY);
    }

    private void leave(ServerCloseCause cause) {
        closing(cause);
        pool.drain(this);
        http2.goAway();
    }

    @Override
    public void streamClosed() {
        if (http2.openStreams() == 0) {
            idleSince = System.nanoTime();
        }
        pool.serveWaiting();
    }

    @Override
    public void abused(AbuseRule rule, String what) {
        if (channel != null) {
            pool.settings().abuse().listener().abused(channel.remoteAddress(), rule, what);
        }
    }

    @Override
    public void closed(@Nullable Throwable cause) {
        stopTimer();
        pool.connectionClosed(this, cause);
    }

    /** @param why the failure of the calls on it */
    void close(OipException why) {
        http2.closeWith(why);
    }

    /** Notes that the server has sent something. */
    private final class ServerListener extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object bytes) {
            received = true;
            context.fireChannelRead(bytes);
        }
    }
}

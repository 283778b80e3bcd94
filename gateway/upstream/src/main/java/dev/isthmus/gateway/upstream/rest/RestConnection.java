package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.http1.HeadLimits;
import dev.isthmus.gateway.http1.ResponseParser;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One HTTP/1.1 connection, which carries one exchange at a time. The last handler of its channel. */
@SuppressWarnings("FutureReturnValueIgnored") // of close(): channelInactive handles the result
final class RestConnection extends ChannelInboundHandlerAdapter {
    private static final long STALE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int MAX_HEAD = 16 * 1024;
    private static final HeadLimits LIMITS = new HeadLimits("status line", MAX_HEAD, MAX_HEAD, MAX_HEAD);
    /** Large, so that a body's parts are as large as the read buffers. */
    private static final int MAX_PART = 1 << 20;

    private final RestConnectionPool pool;
    private final Channel channel;
    private final ResponseParser parser = new ResponseParser(LIMITS, MAX_PART);
    private @Nullable RestCall exchange;
    private @Nullable Throwable failure;
    private int exchanges;
    private long idleSince;
    private boolean written;
    private boolean returning;

    RestConnection(RestConnectionPool pool, Channel channel) {
        this.pool = pool;
        this.channel = channel;
        this.idleSince = pool.nanoTime();
    }

    /** Whether it has carried an exchange, so that the server may have closed it meanwhile. */
    boolean used() {
        return exchanges > 0;
    }

    /** Whether it was idle for so long that the server may have closed it. */
    boolean stale() {
        return used() && idleNanos() >= STALE_NANOS;
    }

    /** The time since its last exchange, or since it was made. */
    long idleNanos() {
        return pool.nanoTime() - idleSince;
    }

    ConnectionUse use() {
        boolean idle = exchange == null;
        return new ConnectionUse(
                "HTTP/1.1",
                idle ? 0 : 1,
                idle && !used() ? null : Duration.ofNanos(idle ? Math.max(0, idleNanos()) : 0));
    }

    boolean active() {
        return channel.isActive();
    }

    /** Whether it is active, as far as the kernel knows: servers close idle connections at any time. */
    boolean open() {
        return channel.isActive() && !Transport.closedByPeer(channel);
    }

    /** Begins an exchange, which keeps ownership of the request. */
    void send(RestRequestSpec request, RestCall next) {
        exchange = next;
        exchanges++;
        written = false;
        request.write(channel).addListener(future -> written((ChannelFuture) future));
    }

    private void written(ChannelFuture future) {
        if (future.isSuccess()) {
            written = true;
        } else {
            fail(future.cause());
        }
    }

    private void fail(@Nullable Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
        channel.close();
    }

    /**
     * The exchange is complete: returns the connection to the pool, or closes it if it cannot be reused. Only after
     * everything read was processed: what a server sends beyond its response must not become the response to another
     * request.
     */
    void finished(boolean keepAlive) {
        exchange = null;
        channel.config().setAutoRead(true);
        returning = keepAlive && written && channel.isActive();
        if (!returning) {
            channel.close();
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        if (returning) {
            returning = false;
            idleSince = pool.nanoTime();
            pool.release(this);
        }
    }

    /** Resumes or stops reading. */
    void read(boolean on) {
        channel.config().setAutoRead(on);
    }

    /** Abandons the exchange and closes the connection. */
    void abandon() {
        exchange = null;
        channel.close();
    }

    /** Closes the connection, which nobody needs. */
    void closeIdle() {
        ConnectionCounts.closing(channel, ConnectionCounts.ServerCloseCause.IDLE);
        channel.close();
    }

    /** Closes the connection; an active exchange fails. */
    void close() {
        channel.close();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf read = (ByteBuf) message;
        try {
            RestCall current = exchange;
            while (current != null && receive(current, read)) {
                current = exchange;
            }
            if (read.isReadable()) {
                returning = false;
                channel.close();
            }
        } finally {
            read.release();
        }
    }

    /** Passes the next part of a response to its exchange; returns whether there was one. */
    private boolean receive(RestCall current, ByteBuf read) {
        try {
            switch (parser.next(read)) {
                case MORE, FOREIGN -> {
                    return false;
                }
                case HEAD -> {
                    current.head(parser.response());
                    if (parser.ended() && exchange == current) {
                        current.part(Unpooled.EMPTY_BUFFER, true);
                    }
                }
                case CONTENT -> current.part(parser.content(), parser.ended());
                case END -> current.part(Unpooled.EMPTY_BUFFER, true);
            }
        } catch (OipException malformed) {
            current.malformed(malformed);
        }
        return true;
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        RestCall current = exchange;
        if (current != null && failure == null && parser.endsWithConnection()) {
            current.part(Unpooled.EMPTY_BUFFER, true);
        }
        returning = false;
        pool.connectionClosed(this);
        RestCall unfinished = exchange;
        exchange = null;
        if (unfinished != null) {
            unfinished.connectionLost(failure);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        fail(cause);
    }
}

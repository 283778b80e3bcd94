package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One event loop's connections to an upstream. Used on that loop only, but for {@link #close()}. */
final class ConnectionPool {
    private static final AttributeKey<String> HOST = AttributeKey.valueOf(ConnectionPool.class, "host");
    private static final int MAX_IDLE = 64;
    private static final int LARGEST_READ = 512 * 1024;

    private final EventLoop loop;
    private final Bootstrap bootstrap;
    private final List<Endpoint> endpoints;
    private final Deque<Channel> idle = new ArrayDeque<>();
    private int turn;
    private boolean closed;

    ConnectionPool(UpstreamSettings settings, Transport transport, EventLoop loop) {
        this.loop = loop;
        this.endpoints = settings.endpoints();
        this.bootstrap = new Bootstrap()
                .group(loop)
                .channel(transport.clientChannel())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(
                        ChannelOption.CONNECT_TIMEOUT_MILLIS,
                        Math.toIntExact(settings.connectTimeout().toMillis()))
                .option(ChannelOption.RECVBUF_ALLOCATOR, new AdaptiveRecvByteBufAllocator(512, 8 * 1024, LARGEST_READ))
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpClientCodec(), new ResponseHandler());
                    }
                });
    }

    /** The connection used last that is still good; null when there is none. */
    @Nullable
    Channel reuse() {
        for (Channel channel = idle.pollLast(); channel != null; channel = idle.pollLast()) {
            if (channel.isActive()) {
                return channel;
            }
        }
        return null;
    }

    ChannelFuture connect() {
        Endpoint endpoint = endpoints.get(Math.floorMod(turn++, endpoints.size()));
        ChannelFuture connecting = bootstrap.connect(new InetSocketAddress(endpoint.host(), endpoint.port()));
        connecting.channel().attr(HOST).set(endpoint.toString());
        return connecting;
    }

    /** What the Host header says on this connection: the endpoint as it is configured. */
    static String host(Channel channel) {
        return channel.attr(HOST).get();
    }

    void giveBack(Channel channel) {
        if (closed || idle.size() == MAX_IDLE) {
            channel.close();
        } else {
            idle.addLast(channel);
        }
    }

    void close() {
        loop.execute(() -> {
            closed = true;
            idle.forEach(Channel::close);
            idle.clear();
        });
    }
}

package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The channel to one server from one event loop. Used on that loop only, but for closing and reconnecting. */
final class LoopChannel {
    private static final Duration KEEP_ALIVE = Duration.ofSeconds(30);
    private static final Duration KEEP_ALIVE_TIMEOUT = Duration.ofSeconds(10);
    /** gRPC waits up to two minutes between attempts; a server that is back should be used sooner. */
    private static final long RECONNECT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ManagedChannel channel;
    private long lastReset = System.nanoTime() - RECONNECT_NANOS;

    private LoopChannel(ManagedChannel channel) {
        this.channel = channel;
    }

    static LoopChannel open(UpstreamSettings settings, EventLoop loop, ByteBufAllocator allocator) {
        return new LoopChannel(
                NettyChannelBuilder.forAddress(settings.endpoint().address())
                        .overrideAuthority(settings.authority())
                        .offloadExecutor(Runnable::run)
                        .usePlaintext()
                        .eventLoopGroup(loop)
                        .channelType(Transport.of(loop).clientChannel())
                        .directExecutor()
                        .disableRetry()
                        .disableServiceConfigLookUp()
                        .proxyDetector(target -> null)
                        .withOption(ChannelOption.ALLOCATOR, allocator)
                        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, settings.connectTimeoutMillis())
                        .maxInboundMessageSize((int) Math.min(settings.maxMessageBytes(), Integer.MAX_VALUE))
                        .keepAliveTime(keepAlive(settings.timeout()).toMillis(), TimeUnit.MILLISECONDS)
                        .keepAliveTimeout(KEEP_ALIVE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                        .build());
    }

    /** At most two pings while a call waits: servers close a connection that pings them a third time unanswered. */
    private static Duration keepAlive(Duration timeout) {
        Duration half = timeout.dividedBy(2);
        return half.compareTo(KEEP_ALIVE) > 0 ? half : KEEP_ALIVE;
    }

    /** The channel, which connects again soon where its connection was lost. */
    ManagedChannel channel() {
        if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            long now = System.nanoTime();
            if (now - lastReset >= RECONNECT_NANOS) {
                lastReset = now;
                channel.resetConnectBackoff();
            }
        }
        return channel;
    }

    /** Connects at once where a connection was lost. May be called on any thread. */
    void reconnect() {
        if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            channel.resetConnectBackoff();
        }
    }

    void close() {
        channel.shutdownNow();
    }
}

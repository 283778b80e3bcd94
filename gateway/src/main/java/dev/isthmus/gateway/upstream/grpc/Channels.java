package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The channels of one upstream on one event loop, one for each endpoint. Used on that loop only, but for closing. */
final class Channels {
    private static final Duration KEEP_ALIVE = Duration.ofSeconds(30);
    private static final Duration KEEP_ALIVE_TIMEOUT = Duration.ofSeconds(10);
    /** gRPC waits up to two minutes between attempts; a server that is back should be used sooner. */
    private static final long RECONNECT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<ManagedChannel> channels;
    private final long[] lastReset;
    private int next;

    private Channels(List<ManagedChannel> channels) {
        this.channels = channels;
        this.lastReset = new long[channels.size()];
        Arrays.fill(lastReset, System.nanoTime() - RECONNECT_NANOS);
    }

    static Channels open(UpstreamSettings settings, EventLoop loop, ByteBufAllocator allocator, Executor lookups) {
        return new Channels(settings.endpoints().stream()
                .map(endpoint -> open(settings, endpoint, loop, allocator, lookups))
                .toList());
    }

    private static ManagedChannel open(
            UpstreamSettings settings,
            Endpoint endpoint,
            EventLoop loop,
            ByteBufAllocator allocator,
            Executor lookups) {
        return builder(endpoint, lookups)
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
                .build();
    }

    /** A name is looked up by gRPC, on another thread; an address is used at once. */
    private static NettyChannelBuilder builder(Endpoint endpoint, Executor lookups) {
        return endpoint.address().isUnresolved()
                ? NettyChannelBuilder.forAddress(endpoint.host(), endpoint.port())
                        .offloadExecutor(lookups)
                : NettyChannelBuilder.forAddress(endpoint.address()).offloadExecutor(Runnable::run);
    }

    /** At most two pings while a call waits: servers close a connection that pings them a third time unanswered. */
    private static Duration keepAlive(Duration timeout) {
        Duration half = timeout.dividedBy(2);
        return half.compareTo(KEEP_ALIVE) > 0 ? half : KEEP_ALIVE;
    }

    /** The next endpoint's channel, passing over those that do not connect as long as there is another. */
    ManagedChannel pick() {
        int size = channels.size();
        for (int attempt = 0; attempt < size; attempt++) {
            int index = turn(size);
            if (usable(index)) {
                return channels.get(index);
            }
        }
        return channels.get(turn(size));
    }

    private int turn(int size) {
        int index = next;
        next = index + 1 == size ? 0 : index + 1;
        return index;
    }

    private boolean usable(int index) {
        ManagedChannel channel = channels.get(index);
        if (channel.getState(false) != ConnectivityState.TRANSIENT_FAILURE) {
            return true;
        }
        long now = System.nanoTime();
        if (now - lastReset[index] >= RECONNECT_NANOS) {
            lastReset[index] = now;
            channel.resetConnectBackoff();
        }
        return false;
    }

    /** Connects at once where a connection was lost. May be called on any thread. */
    void reconnect() {
        for (ManagedChannel channel : channels) {
            if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
                channel.resetConnectBackoff();
            }
        }
    }

    void close() {
        channels.forEach(ManagedChannel::shutdownNow);
    }
}

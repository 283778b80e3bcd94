package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpResponseEncoder;
import java.net.SocketAddress;

/** Sets up the pipelines of client connections. */
final class IngressPipelines extends ChannelInitializer<Channel> {
    private static final int MAX_READ = 512 * 1024;
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(512, 8 * 1024, MAX_READ));
    /** Read-ahead limit of all connections of a listener, in bytes. */
    private static final long MAX_READ_AHEAD = 64L << 20;

    private final ListenerContext listener;
    private final ReadAheadBudget ahead = new ReadAheadBudget(MAX_READ_AHEAD);

    IngressPipelines(ListenerContext listener) {
        this.listener = listener;
    }

    @Override
    protected void initChannel(Channel channel) {
        ConnectionPolicy policy = listener.settings().get().connections();
        if (!accepted(channel, policy)) {
            return;
        }
        BodyReadBuffer bodyBuffer = new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, ahead);
        channel.config().setRecvByteBufAllocator(new BodyReadAllocator(READS, bodyBuffer));
        ConnectionTimer timer = new ConnectionTimer(policy, listener.connections());
        channel.pipeline().addLast(timer);
        if (listener.proxies().get().proxyProtocol()) {
            ProxyProtocolHandler.addTo(channel, listener.connections(), policy);
        }
        channel.pipeline().addLast(new ProtocolDetector(this, timer, bodyBuffer));
        listener.connections().drain().add(channel);
        timer.start(channel);
    }

    /** Accepts a connection, or closes it if it exceeds a limit. */
    private boolean accepted(Channel channel, ConnectionPolicy policy) {
        TrustedProxies proxies = listener.proxies().get();
        if (proxies.proxyProtocol() && !proxies.trusts(channel.remoteAddress())) {
            ProxyProtocolHandler.refuse(channel, "not one of trusted_proxies");
            return false;
        }
        // A proxy is counted by its clients' addresses, once they are known.
        SocketAddress peer = proxies.proxyProtocol() ? null : channel.remoteAddress();
        OpenConnections.ConnectionLimit exceeded = listener.connections().enter(peer, policy);
        channel.closeFuture().addListener(closed -> listener.connections().leave(peer));
        if (exceeded != null) {
            policy.events().refused(exceeded);
            channel.close();
            return false;
        }
        if (policy.tcpKeepaliveSeconds() > 0) {
            Transport.keepAlive(channel, policy.tcpKeepaliveSeconds());
        }
        return true;
    }

    /** Sets up HTTP/1.1; the connection reads as {@code bodyBuffer} requests. */
    void http1(ChannelPipeline pipeline, ConnectionTimer timer, BodyReadBuffer bodyBuffer) {
        Http1Handler handler = new Http1Handler(pipeline.channel(), listener, bodyBuffer);
        pipeline.addLast(handler.decoder(), new HttpResponseEncoder(), handler);
        timer.watch(
                pipeline.channel(), new Http1Timers(handler.decoder(), handler, pipeline.context(handler)));
    }

    void http2(ChannelPipeline pipeline, ConnectionTimer timer) {
        Http2Ingress ingress = new Http2Ingress(pipeline.channel(), listener);
        pipeline.addLast(ingress.connection());
        timer.watch(pipeline.channel(), ingress);
    }
}

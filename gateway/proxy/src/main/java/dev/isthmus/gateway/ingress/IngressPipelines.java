package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.Http2Connection;
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

/** Every pipeline of the ingress. */
final class IngressPipelines extends ChannelInitializer<Channel> {
    private static final int LARGEST_READ = 512 * 1024;
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(512, 8 * 1024, LARGEST_READ));
    /** Of all connections of a listener. */
    private static final long MOST_AHEAD = 64L << 20;

    private final ListenerContext entry;
    private final ReadAheadBudget ahead = new ReadAheadBudget(MOST_AHEAD);

    IngressPipelines(ListenerContext entry) {
        this.entry = entry;
    }

    @Override
    protected void initChannel(Channel channel) {
        ConnectionPolicy policy = entry.settings().get().connections();
        if (!taken(channel, policy)) {
            return;
        }
        BodyReadBuffer landing = new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, ahead);
        channel.config().setRecvByteBufAllocator(new BodyReadAllocator(READS, landing));
        ConnectionTimer timer = new ConnectionTimer(policy, entry.connections());
        channel.pipeline().addLast(timer).addLast(new ProtocolDetector(this, timer, landing));
    }

    /** Closes a connection that is one too many. */
    private boolean taken(Channel channel, ConnectionPolicy policy) {
        SocketAddress peer = channel.remoteAddress();
        OpenConnections.ConnectionLimit beyond = entry.connections().enter(peer, policy);
        channel.closeFuture().addListener(closed -> entry.connections().leave(peer));
        if (beyond != null) {
            policy.events().refused(beyond);
            channel.close();
            return false;
        }
        if (policy.tcpKeepaliveSeconds() > 0) {
            Transport.keepAlive(channel, policy.tcpKeepaliveSeconds());
        }
        return true;
    }

    /** HTTP/1.1, whose connection reads as {@code landing} has it. */
    void http1(ChannelPipeline pipeline, ConnectionTimer timer, BodyReadBuffer landing) {
        Http1Handler handler = new Http1Handler(pipeline.channel(), entry, landing);
        pipeline.addLast(handler.decoder(), new HttpResponseEncoder(), handler);
        timer.watch(new Http1Timers(handler.decoder(), handler, pipeline.context(handler)));
    }

    void http2(ChannelPipeline pipeline, ConnectionTimer timer) {
        Http2Connection connection = Http2Ingress.connection(pipeline.channel(), entry);
        pipeline.addLast(connection);
        timer.watch(connection::checkTime);
    }
}

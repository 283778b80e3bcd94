package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.haproxy.HAProxyCommand;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.codec.haproxy.HAProxyProxiedProtocol.AddressFamily;
import io.netty.util.AttributeKey;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the client's address from the PROXY protocol header that {@link HAProxyMessageDecoder} reads, and removes
 * itself. A connection without a valid header is closed; the timeout of request heads limits the wait for it.
 */
final class ProxyProtocolHandler extends SimpleChannelInboundHandler<HAProxyMessage> {
    private static final Logger LOG = LoggerFactory.getLogger(ProxyProtocolHandler.class);
    private static final AttributeKey<SocketAddress> CLIENT =
            AttributeKey.valueOf(ProxyProtocolHandler.class, "client");
    /** Maximum size of the TLVs of a version 2 header, in bytes. */
    private static final int MAX_TLV_BYTES = 4 * 1024;

    private final OpenConnections connections;
    private final ConnectionPolicy policy;
    private boolean refused;

    private ProxyProtocolHandler(OpenConnections connections, ConnectionPolicy policy) {
        this.connections = connections;
        this.policy = policy;
    }

    /** Adds the handlers to the end of the pipeline, before anything that reads the client's bytes. */
    static void addTo(Channel channel, OpenConnections connections, ConnectionPolicy policy) {
        channel.pipeline()
                .addLast(new HAProxyMessageDecoder(MAX_TLV_BYTES, true), new ProxyProtocolHandler(connections, policy));
    }

    /** The address from the header, else that of the connection. */
    static @Nullable SocketAddress peer(Channel channel) {
        SocketAddress client = channel.hasAttr(CLIENT) ? channel.attr(CLIENT).get() : null;
        return client == null ? channel.remoteAddress() : client;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        if (refused) {
            ReferenceCountUtil.release(message);
        } else {
            super.channelRead(ctx, message);
        }
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, HAProxyMessage header) {
        Channel channel = ctx.channel();
        InetSocketAddress client = client(header);
        if (client != null) {
            channel.attr(CLIENT).set(client);
        }
        SocketAddress peer = peer(channel);
        OpenConnections.ConnectionLimit exceeded = connections.enterAddress(peer, policy);
        channel.closeFuture().addListener(closed -> connections.leaveAddress(peer));
        if (exceeded != null) {
            policy.events().refused(exceeded);
            refused = true;
            ctx.close();
            return;
        }
        ctx.pipeline().remove(this);
    }

    /** The client's address; null if the proxy speaks for itself, as in its health checks, or does not know it. */
    private static @Nullable InetSocketAddress client(HAProxyMessage header) {
        AddressFamily family = header.proxiedProtocol().addressFamily();
        boolean ip = family == AddressFamily.AF_IPv4 || family == AddressFamily.AF_IPv6;
        String source = header.sourceAddress();
        if (header.command() == HAProxyCommand.LOCAL || !ip || source == null) {
            return null;
        }
        InetAddress address = NetUtil.createInetAddressFromIpAddressString(source);
        return address == null ? null : new InetSocketAddress(address, header.sourcePort());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof IOException) {
            LOG.debug(
                    "connection of {} failed before its PROXY protocol header: {}",
                    ctx.channel().remoteAddress(),
                    FailureReason.of(cause));
        } else {
            refuse(ctx.channel(), "expected a PROXY protocol header: " + cause.getMessage());
        }
        ctx.close();
    }

    /** Closes a connection that may not be made, and logs why. */
    static void refuse(Channel channel, String why) {
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("peer", channel.remoteAddress())
                .log(
                        "connection from {} closed: {}; check 'trusted_proxies' and the proxy",
                        channel.remoteAddress(),
                        why);
        channel.close();
    }
}

package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.UpstreamTls;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.NetUtil;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** TLS of the connections to the servers of an upstream. Thread-safe. */
public final class ClientTls extends TlsContexts<ClientContexts> {
    private static final Logger LOG = LoggerFactory.getLogger(ClientTls.class);

    private final String owner;
    private final UpstreamTls settings;
    private final TlsMeters.HandshakeMeters meters;

    ClientTls(String owner, UpstreamTls settings, TlsRegistry registry) {
        super(owner, ClientContexts.files(settings), registry, () -> ClientContexts.load(settings));
        this.owner = owner;
        this.settings = settings;
        this.meters = registry.meters().ofUpstreams();
    }

    /**
     * TLS to one server.
     *
     * @param authority host and port of the server, or the host alone
     */
    public TlsServer to(String authority) {
        String name = settings.serverName();
        return new TlsServer(this, name == null ? host(authority) : name);
    }

    private static String host(String authority) {
        int colon = authority.lastIndexOf(':');
        String host = colon < 0 || NetUtil.isValidIpV6Address(authority) ? authority : authority.substring(0, colon);
        return host.replaceAll("[\\[\\]]", "");
    }

    /**
     * TLS to one server.
     *
     * @param host the name or address that its certificate must have
     */
    public record TlsServer(ClientTls tls, String host) {

        /**
         * Adds the handlers of a new connection for gRPC: it must agree on HTTP/2. To be called before handlers of the
         * protocol are added. What is written waits for the handshake; if that fails, the connection is closed.
         */
        public void addHttp2(Channel channel, Duration timeout) {
            add(channel, timeout, true);
        }

        /** As {@link #addHttp2}, for HTTP/1.1. */
        public void addHttp1(Channel channel, Duration timeout) {
            add(channel, timeout, false);
        }

        private void add(Channel channel, Duration timeout, boolean http2) {
            SslHandler handler = handler(channel.alloc(), http2);
            handler.setHandshakeTimeoutMillis(Math.max(1, timeout.toMillis()));
            channel.pipeline().addLast(handler, new HandshakeObserver(this, handler, http2));
        }

        private SslHandler handler(ByteBufAllocator allocator, boolean http2) {
            ClientContexts contexts = tls.acquire();
            try {
                SslContext context = http2 ? contexts.http2() : contexts.http1();
                return context.newHandler(allocator, host, -1);
            } finally {
                contexts.release();
            }
        }
    }

    private void failed(Throwable failure, Channel channel, String host) {
        meters.ended(HandshakeResult.of(failure));
        String reason = HandshakeFailure.reason(failure);
        LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("server", channel.remoteAddress())
                .addKeyValue("code", HandshakeResult.of(failure).label())
                .log("{}: TLS to {} as '{}' failed: {}", owner, channel.remoteAddress(), host, reason);
    }

    /** Reports the end of the handshake, and closes connections that did not agree on HTTP/2. */
    private static final class HandshakeObserver extends ChannelInboundHandlerAdapter {
        private final TlsServer server;
        private final SslHandler handler;
        private final boolean http2;
        private long since = System.nanoTime();

        HandshakeObserver(TlsServer server, SslHandler handler, boolean http2) {
            this.server = server;
            this.handler = handler;
            this.http2 = http2;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            since = System.nanoTime();
            ctx.fireChannelActive();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof SslHandshakeCompletionEvent completion) {
                Throwable failure = completion.cause();
                if (failure == null
                        && http2
                        && !ApplicationProtocolNames.HTTP_2.equals(handler.applicationProtocol())) {
                    failure = new SSLException("the server did not agree on HTTP/2 (ALPN h2)");
                    ctx.fireExceptionCaught(failure);
                    ctx.close();
                }
                ended(failure, ctx.channel());
            }
            ctx.fireUserEventTriggered(event);
        }

        private void ended(@Nullable Throwable failure, Channel channel) {
            if (failure == null) {
                String version = handler.engine().getSession().getProtocol();
                server.tls().meters.ended(version, System.nanoTime() - since);
            } else {
                server.tls().failed(failure, channel, server.host());
            }
        }
    }
}

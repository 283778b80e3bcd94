package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.ingress.IngressPipelines.AcceptedConnection;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.tls.HandshakeResult;
import dev.isthmus.gateway.tls.ServerTls;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SniCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for the end of the TLS handshake, and sets up the protocol that client and gateway agreed on by ALPN. Without
 * ALPN the first bytes tell, as in plain text.
 */
final class TlsNegotiation extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(TlsNegotiation.class);

    private final ServerTls tls;
    private final AcceptedConnection connection;
    private final long since = System.nanoTime();
    private @Nullable String host;
    private boolean ended;

    TlsNegotiation(ServerTls tls, AcceptedConnection connection) {
        this.tls = tls;
        this.connection = connection;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof SniCompletionEvent sni) {
            host = sni.hostname();
        } else if (event instanceof SslHandshakeCompletionEvent handshake) {
            if (handshake.isSuccess()) {
                succeeded(ctx);
            } else {
                failed(ctx, handshake.cause());
            }
        }
        ctx.fireUserEventTriggered(event);
    }

    private void succeeded(ChannelHandlerContext ctx) {
        SslHandler handler = ctx.pipeline().get(SslHandler.class);
        TlsSession session;
        try {
            session = ServerTls.session(handler, host);
        } catch (CertificateException expired) {
            failed(ctx, expired);
            return;
        }
        ended = true;
        tls.ended(session, System.nanoTime() - since);
        connection.secured(session);
        String protocol = handler.applicationProtocol();
        if (ApplicationProtocolNames.HTTP_2.equals(protocol)) {
            connection.http2(ctx.pipeline());
        } else if (ApplicationProtocolNames.HTTP_1_1.equals(protocol)) {
            connection.http1(ctx.pipeline());
        } else {
            ctx.pipeline().addLast(new ProtocolDetector(connection));
        }
        ctx.pipeline().remove(this);
    }

    /** Clients cause this at will, so it is counted and not logged above debug. */
    private void failed(ChannelHandlerContext ctx, Throwable cause) {
        if (!ended) {
            ended = true;
            if (connection.handshakeTimedOut()) {
                tls.ended(HandshakeResult.TIMEOUT);
            } else {
                tls.failed(cause);
            }
            LOG.debug("client {}: TLS handshake failed: {}", ctx.channel().remoteAddress(), FailureReason.of(cause));
        }
        ctx.close();
    }

    /** The handshake was not complete when the connection ended. */
    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (!ended) {
            ended = true;
            tls.ended(connection.handshakeTimedOut() ? HandshakeResult.TIMEOUT : HandshakeResult.CLOSED);
        }
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failed(ctx, cause instanceof DecoderException && cause.getCause() != null ? cause.getCause() : cause);
    }

    /**
     * Detects HTTP/2 with prior knowledge by its preface, which starts with {@code PRI }; anything else is HTTP/1.1. Sets
     * up the pipeline and removes itself.
     */
    static final class ProtocolDetector extends ByteToMessageDecoder {
        private static final int PRI = 0x50524920;

        private final AcceptedConnection connection;

        ProtocolDetector(AcceptedConnection connection) {
            this.connection = connection;
        }

        @Override
        protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
            if (in.readableBytes() < Integer.BYTES) {
                return;
            }
            if (in.getInt(in.readerIndex()) == PRI) {
                connection.http2(ctx.pipeline());
            } else {
                connection.http1(ctx.pipeline());
            }
            ctx.pipeline().remove(this);
        }

        /** A reset before the first byte is not worth a log line above debug. */
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ConnectionFailureLog.failed(ctx.channel(), cause);
            ctx.close();
        }
    }

    /** Logs what ends the connections of clients: clients cause I/O errors at will, all else is a fault of the gateway. */
    static final class ConnectionFailureLog {
        private static final Logger LOG = LoggerFactory.getLogger(ConnectionFailureLog.class);

        private ConnectionFailureLog() {}

        static void failed(Channel channel, Throwable cause) {
            if (cause instanceof IOException) {
                LOG.debug("connection of client {} failed: {}", channel.remoteAddress(), FailureReason.of(cause));
            } else {
                RepeatingLogEvent.fault(LOG, cause)
                        .addKeyValue("peer", channel.remoteAddress())
                        .log("internal error on a client's connection; please report it");
            }
        }
    }
}

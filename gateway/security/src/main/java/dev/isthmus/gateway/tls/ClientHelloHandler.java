package dev.isthmus.gateway.tls;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.SniHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.Mapping;
import io.netty.util.concurrent.Future;
import java.util.List;
import javax.net.ssl.SSLHandshakeException;

/**
 * The first handler of a TLS connection: chooses the context by the server name in the ClientHello (SNI). It limits the
 * size of the ClientHello and the time of the handshake. A client that offers only protocols that the listener does not
 * speak gets the alert of RFC 7301, 3.2; BoringSSL as Netty uses it would go on without a protocol.
 */
final class ClientHelloHandler extends SniHandler {
    /** Limit of a ClientHello in bytes. */
    private static final int MAX_CLIENT_HELLO = 16 * 1024;

    /** A TLS record with the fatal alert no_application_protocol. */
    private static final byte[] NO_APPLICATION_PROTOCOL = {21, 3, 3, 0, 2, 2, 120};

    private final ServerContexts contexts;
    private final List<String> protocols;
    private boolean refused;

    /**
     * A handler for one connection.
     *
     * @param contexts taken
     * @param protocols that the listener speaks
     */
    ClientHelloHandler(ServerContexts contexts, List<String> protocols, long timeoutMillis) {
        super((Mapping<String, SslContext>) contexts::of, MAX_CLIENT_HELLO, timeoutMillis);
        this.contexts = contexts;
        this.protocols = protocols;
    }

    /** Releases the contexts: the handler of TLS has taken over, or the connection has ended. */
    @Override
    protected void handlerRemoved0(ChannelHandlerContext ctx) throws Exception {
        contexts.release();
        super.handlerRemoved0(ctx);
    }

    /** @param clientHello null if it cannot be parsed, which Netty's handler finds again */
    @Override
    protected Future<SslContext> lookup(ChannelHandlerContext ctx, ByteBuf clientHello) throws Exception {
        if (refused) {
            // Never completed: nothing more is read of this connection.
            return ctx.executor().newPromise();
        }
        if (clientHello == null || OfferedProtocols.includeOneOf(clientHello, protocols)) {
            return super.lookup(ctx, clientHello);
        }
        refused = true;
        var failure = new SSLHandshakeException("none of the client's protocols is one of " + protocols);
        ctx.writeAndFlush(Unpooled.wrappedBuffer(NO_APPLICATION_PROTOCOL)).addListener(ChannelFutureListener.CLOSE);
        ctx.fireUserEventTriggered(new SslHandshakeCompletionEvent(failure));
        // Netty releases the ClientHello, and asks again without one.
        throw failure;
    }

    @Override
    protected SslHandler newSslHandler(SslContext context, ByteBufAllocator allocator) {
        SslHandler handler = super.newSslHandler(context, allocator);
        handler.setHandshakeTimeoutMillis(handshakeTimeoutMillis);
        return handler;
    }
}

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
import java.nio.charset.StandardCharsets;
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

    private final ContextSet contexts;
    private final List<String> protocols;
    private boolean refused;

    /**
     * @param contexts taken
     * @param protocols that the listener speaks
     */
    ClientHelloHandler(ContextSet contexts, List<String> protocols, long timeoutMillis) {
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

    /** The protocols that a ClientHello offers by ALPN (RFC 8446, 4.1.2; RFC 7301, 3.1). */
    static final class OfferedProtocols {
        /** Of the version and the random bytes, which come first. */
        private static final int FIXED = 34;

        private static final int ALPN = 16;

        private OfferedProtocols() {}

        /**
         * Whether a ClientHello offers one of these protocols, or offers none by ALPN.
         *
         * @param hello borrowed; begins behind the head of the handshake message; one that is malformed offers none
         */
        static boolean includeOneOf(ByteBuf hello, List<String> protocols) {
            try {
                ByteBuf extension = alpn(hello.slice());
                return !extension.isReadable() || includes(extension, protocols);
            } catch (IndexOutOfBoundsException truncated) {
                return true;
            }
        }

        /** The extension's list of names; empty if there is none. */
        private static ByteBuf alpn(ByteBuf in) {
            in.skipBytes(FIXED);
            in.skipBytes(in.readUnsignedByte());
            in.skipBytes(in.readUnsignedShort());
            in.skipBytes(in.readUnsignedByte());
            ByteBuf extensions = in.readSlice(in.isReadable() ? in.readUnsignedShort() : 0);
            while (extensions.isReadable()) {
                int type = extensions.readUnsignedShort();
                ByteBuf data = extensions.readSlice(extensions.readUnsignedShort());
                if (type == ALPN) {
                    return data.readSlice(data.readUnsignedShort());
                }
            }
            return extensions;
        }

        private static boolean includes(ByteBuf names, List<String> protocols) {
            while (names.isReadable()) {
                if (protocols.contains(names.readString(names.readUnsignedByte(), StandardCharsets.ISO_8859_1))) {
                    return true;
                }
            }
            return false;
        }
    }
}

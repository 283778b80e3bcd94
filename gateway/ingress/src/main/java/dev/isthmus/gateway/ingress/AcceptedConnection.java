package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.ingress.ConnectionTimer.Http1Timers;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import org.jspecify.annotations.Nullable;

/** A connection whose protocol is not known yet. */
final class AcceptedConnection {
    private final Channel channel;
    private final ListenerContext listener;
    private final ConnectionTimer timer;
    private final BodyReadBuffer bodyBuffer;
    private @Nullable TlsSession session;

    /** @param bodyBuffer the buffer that the connection reads bodies into as it requests */
    AcceptedConnection(Channel channel, ListenerContext listener, ConnectionTimer timer, BodyReadBuffer bodyBuffer) {
        this.channel = channel;
        this.listener = listener;
        this.timer = timer;
        this.bodyBuffer = bodyBuffer;
    }

    /** The TLS handshake has succeeded. */
    void secured(TlsSession established) {
        session = established;
        timer.handshakeEnded();
    }

    /** Whether the connection was closed because the TLS handshake took too long. */
    boolean handshakeTimedOut() {
        return timer.handshakeTimedOut();
    }

    /** Sets up HTTP/1.1. */
    void http1(ChannelPipeline pipeline) {
        Http1Handler handler = new Http1Handler(channel, listener, listener.connection(channel, session), bodyBuffer);
        pipeline.addLast(handler);
        timer.watch(channel, new Http1Timers(handler.reader(), handler, pipeline.context(handler)));
    }

    /** Sets up HTTP/2. */
    void http2(ChannelPipeline pipeline) {
        Http2Ingress ingress = new Http2Ingress(channel, listener, listener.connection(channel, session));
        pipeline.addLast(ingress.connection());
        timer.watch(channel, ingress);
    }
}

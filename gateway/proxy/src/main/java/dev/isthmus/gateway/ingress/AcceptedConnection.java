package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.http2.Http2Connection;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpResponseEncoder;

/** A connection whose protocol is not known yet. */
final class AcceptedConnection {
    private final ListenerContext listener;
    private final ConnectionTimer timer;
    private final BodyReadBuffer bodyBuffer;
    private ClientConnection client;

    /** @param bodyBuffer the buffer that the connection reads bodies into as it requests */
    AcceptedConnection(
            ListenerContext listener, ConnectionTimer timer, BodyReadBuffer bodyBuffer, ClientConnection client) {
        this.listener = listener;
        this.timer = timer;
        this.bodyBuffer = bodyBuffer;
        this.client = client;
    }

    /** The TLS handshake has succeeded. */
    void secured(TlsSession session) {
        client = new ClientConnection(client.listener(), client.peer(), session);
        timer.handshakeEnded();
    }

    /** Whether the connection was closed because the TLS handshake took too long. */
    boolean handshakeTimedOut() {
        return timer.handshakeTimedOut();
    }

    /** Sets up HTTP/1.1. */
    void http1(ChannelPipeline pipeline) {
        Http1Handler handler = new Http1Handler(pipeline.channel(), listener, client, bodyBuffer);
        pipeline.addLast(handler.decoder(), new HttpResponseEncoder(), handler);
        timer.watch(new Http1Timers(handler.decoder(), handler, pipeline.context(handler)));
    }

    /** Sets up HTTP/2. */
    void http2(ChannelPipeline pipeline) {
        Http2Connection connection = Http2Ingress.connection(pipeline.channel(), listener, client);
        pipeline.addLast(connection);
        timer.watch(connection::checkTime);
    }
}

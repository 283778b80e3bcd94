package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.util.AsciiString;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** gRPC over one HTTP/2 stream. */
final class Http2GrpcExchange extends Http2Exchange implements GrpcTransport {
    private final GrpcExchange exchange;

    Http2GrpcExchange(
            Http2Stream stream, Channel channel, IngressSettings settings, CallContext context, Service calls) {
        super(stream);
        this.exchange = new GrpcExchange(this, channel.alloc(), settings, context, calls);
    }

    @Override
    HttpExchange exchange() {
        return exchange;
    }

    @Override
    public void head(@Nullable ContentCoding coding, @Nullable AsciiString id, Map<String, String> returned) {
        stream().headers(GrpcResponseFields.head(coding, id, returned), false);
    }

    @Override
    public void send(ByteBuf message) {
        stream().data(message, false);
    }

    @Override
    public void complete(boolean headSent, Map<String, String> returned) {
        resumeRequest();
        stream().headers(GrpcResponseFields.complete(headSent, returned), true);
    }

    @Override
    public void fail(OipException failure, boolean headSent, Map<String, String> returned) {
        resumeRequest();
        stream().headers(GrpcResponseFields.failure(failure, headSent, returned), true);
    }

    @Override
    public Turn turn() {
        return stream().turn();
    }

    @Override
    public void inNextTurn(Runnable task) {
        stream().inNextTurn(task);
    }
}

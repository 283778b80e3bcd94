package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** gRPC over one HTTP/2 stream. */
final class Http2GrpcExchange implements Http2Exchange, GrpcTransport {
    private final Http2Stream stream;
    private final Channel channel;
    private final GrpcExchange exchange;
    private int withheld;

    Http2GrpcExchange(
            Http2Stream stream, Channel channel, IngressSettings settings, CallContext context, Service calls) {
        this.stream = stream;
        this.channel = channel;
        this.exchange = new GrpcExchange(this, channel.alloc(), settings, context, calls);
    }

    void open(Http2Head head) {
        exchange.open(head, channel);
    }

    /** Rejects the request before it becomes a call. */
    void reject(OipException refusal) {
        exchange.reject(refusal);
    }

    @Override
    public void data(ByteBuf chunk) {
        exchange.data(chunk);
    }

    @Override
    public boolean paused() {
        return exchange.paused();
    }

    @Override
    public PeerWait awaited() {
        return exchange.awaited(stream.bodyBegan());
    }

    @Override
    public void timedOut(TimeoutRule rule) {
        exchange.timedOut(rule);
    }

    @Override
    public void failCall(OipException failure) {
        exchange.failCall(failure);
    }

    @Override
    public void withheld(int bytes) {
        withheld += bytes;
    }

    @Override
    public void resumeRequest() {
        int bytes = withheld;
        if (bytes > 0) {
            withheld = 0;
            stream.consumed(bytes);
        }
    }

    @Override
    public void end() {
        exchange.end();
    }

    @Override
    public void responseEnded() {
        exchange.written();
    }

    @Override
    public void cancel() {
        exchange.cancel();
    }

    @Override
    public void writabilityChanged() {
        exchange.writabilityChanged();
    }

    @Override
    public void head(@Nullable ContentCoding coding, Map<String, String> returned) {
        stream.headers(GrpcResponseFields.head(coding, returned), false);
    }

    @Override
    public void send(ByteBuf message) {
        stream.data(message, false);
    }

    @Override
    public void complete(boolean headSent, Map<String, String> returned) {
        resumeRequest();
        stream.headers(GrpcResponseFields.complete(headSent, returned), true);
    }

    @Override
    public void fail(OipException failure, boolean headSent, Map<String, String> returned) {
        resumeRequest();
        stream.headers(GrpcResponseFields.failure(failure, headSent, returned), true);
    }

    @Override
    public long queued() {
        return stream.queued();
    }

    @Override
    public boolean isWritable() {
        return stream.isWritable();
    }

    @Override
    public Turn turn() {
        return stream.turn();
    }

    @Override
    public void inNextTurn(Runnable task) {
        stream.inNextTurn(task);
    }
}

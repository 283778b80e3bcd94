package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;

/** REST over one HTTP/2 stream. */
final class Http2RestExchange implements Http2Exchange, ResponseWriter {
    private final Http2Responder responder;
    private final RestExchange exchange;

    Http2RestExchange(Http2Responder responder, IngressSettings settings) {
        this.responder = responder;
        this.exchange = new RestExchange(this, settings);
    }

    @Override
    public void open(ChannelHandlerContext ctx, Http2Headers headers, CallHandler calls) {
        exchange.open(RequestHead.of(headers), headers.getLong(HttpHeaderNames.CONTENT_LENGTH, -1L), ctx, calls);
    }

    @Override
    public void data(ByteBuf chunk) {
        exchange.data(chunk);
    }

    @Override
    public void end() {
        exchange.end();
    }

    @Override
    public void cancel() {
        exchange.cancel();
    }

    @Override
    public void becameWritable() {
        exchange.becameWritable();
    }

    @Override
    public void respond(RestResponse response) {
        Http2Headers headers = headers(response);
        if (!headers.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            headers.setInt(HttpHeaderNames.CONTENT_LENGTH, response.body().readableBytes());
        }
        responder.headers(headers, false);
        responder.data(response.body(), true);
    }

    @Override
    public void begin(RestResponse head) {
        responder.headers(headers(head), false);
    }

    @Override
    public void part(ByteBuf part) {
        responder.data(part, false);
    }

    @Override
    public void endBody() {
        responder.data(Unpooled.EMPTY_BUFFER, true);
    }

    @Override
    public boolean writable() {
        return responder.writable();
    }

    private static Http2Headers headers(RestResponse response) {
        Http2Headers headers = new DefaultHttp2Headers(false).status(Integer.toString(response.status()));
        response.headers().forEach(headers::set);
        return headers;
    }
}

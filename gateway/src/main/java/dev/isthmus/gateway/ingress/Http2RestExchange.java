package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;

/** REST over one HTTP/2 stream. */
final class Http2RestExchange implements Http2Exchange {
    private final Http2Responder responder;
    private final RestExchange exchange;

    Http2RestExchange(Http2Responder responder, long maxBodyBytes) {
        this.responder = responder;
        this.exchange = new RestExchange(this::respond, maxBodyBytes);
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

    private void respond(RestResponse response) {
        Http2Headers headers = new DefaultHttp2Headers(false)
                .status(Integer.toString(response.status()))
                .set(HttpHeaderNames.CONTENT_TYPE, response.contentType())
                .setInt(HttpHeaderNames.CONTENT_LENGTH, response.body().readableBytes());
        if (response.jsonLength() != RestBody.ALL_JSON) {
            headers.setLong("inference-header-content-length", response.jsonLength());
        }
        if (response.allow() != null) {
            headers.set(HttpHeaderNames.ALLOW, response.allow());
        }
        responder.headers(headers, false);
        responder.data(response.body(), true);
    }
}

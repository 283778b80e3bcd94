package dev.isthmus.gateway.ingress;

import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;

/** Responses as messages of HTTP/1.1. */
final class Http1Responses {
    private static final String CONTENT_LENGTH = HttpHeaderNames.CONTENT_LENGTH.toString();

    private Http1Responses() {}

    /** Returns the message with the response's body. */
    static FullHttpResponse full(RestResponse response, boolean keepAlive) {
        FullHttpResponse full = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                HttpResponseStatus.valueOf(response.status()),
                response.body(),
                new DefaultHttpHeaders(),
                EmptyHttpHeaders.INSTANCE);
        full.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, response.body().readableBytes());
        setHeaders(full, response, keepAlive);
        return full;
    }

    /** Returns the head of a response whose body follows, in chunks if its length is not known. */
    static HttpResponse head(RestResponse response, boolean keepAlive, boolean http10) {
        HttpResponse head =
                new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(response.status()));
        if (!http10 && !hasLength(response)) {
            head.headers().set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
        }
        setHeaders(head, response, keepAlive);
        return head;
    }

    static boolean hasLength(RestResponse response) {
        return response.headers().containsKey(CONTENT_LENGTH);
    }

    private static void setHeaders(HttpResponse head, RestResponse response, boolean keepAlive) {
        response.headers().forEach(head.headers()::set);
        if (!keepAlive) {
            head.headers().set(HttpHeaderNames.CONNECTION, "close");
        }
    }
}

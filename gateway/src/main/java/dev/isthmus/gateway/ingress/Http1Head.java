package dev.isthmus.gateway.ingress;

import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The head of an HTTP/1.1 request. */
final class Http1Head extends RequestHead {
    private final HttpRequest request;

    Http1Head(HttpRequest request) {
        this.request = request;
    }

    @Override
    long contentLength() {
        return HttpUtil.getContentLength(request, -1L);
    }

    @Override
    String method() {
        return request.method().name();
    }

    @Override
    String uri() {
        return request.uri();
    }

    @Override
    @Nullable
    String field(CharSequence name) {
        return request.headers().get(name);
    }

    @Override
    List<String> all(CharSequence name) {
        return request.headers().getAll(name);
    }

    @Override
    Iterator<Map.Entry<CharSequence, CharSequence>> fields() {
        return request.headers().iteratorCharSequence();
    }
}

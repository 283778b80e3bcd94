package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.net.RequestTarget;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The head of an HTTP/1.1 request. */
final class Http1Head extends RequestHead {
    private final HttpRequest request;
    private final String uri;
    private final long contentLength;

    Http1Head(HttpRequest request, ClientConnection connection) {
        super(connection);
        this.request = request;
        RequestTarget target = RequestTarget.absolute(request.uri());
        this.uri = target == null ? request.uri() : target.path();
        this.contentLength = HttpUtil.getContentLength(request, -1L);
    }

    @Override
    long contentLength() {
        return contentLength;
    }

    @Override
    public String method() {
        return request.method().name();
    }

    @Override
    public String uri() {
        return uri;
    }

    @Override
    @Nullable
    String field(CharSequence name) {
        return request.headers().get(name);
    }

    @Override
    List<String> all(CharSequence name) {
        return all(request, name);
    }

    /** All values of a field. Avoids getAll for absent fields, for which it would allocate a list. */
    static List<String> all(HttpRequest request, CharSequence name) {
        return request.headers().contains(name) ? request.headers().getAll(name) : List.of();
    }

    @Override
    Iterator<Map.Entry<CharSequence, CharSequence>> fields() {
        return request.headers().iteratorCharSequence();
    }
}

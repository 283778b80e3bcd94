package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.net.RequestTarget;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The head of an HTTP/1.1 request. */
final class Http1Head extends RequestHead {
    private final Http1Request request;
    private final String uri;

    Http1Head(Http1Request request, ClientConnection connection) {
        super(connection);
        this.request = request;
        RequestTarget target = RequestTarget.absolute(request.target());
        this.uri = target == null ? request.target() : target.path();
    }

    @Override
    long contentLength() {
        return request.contentLength();
    }

    @Override
    public String method() {
        return request.method();
    }

    @Override
    public String uri() {
        return uri;
    }

    @Override
    @Nullable
    String field(CharSequence name) {
        return request.fields().get(name);
    }

    @Override
    List<String> all(CharSequence name) {
        return request.fields().all(name);
    }

    @Override
    void each(Predicate<String> wanted, BiConsumer<String, String> to) {
        FieldSection fields = request.fields();
        for (int i = 0; i < fields.size(); i++) {
            String name = fields.name(i);
            if (wanted.test(name)) {
                to.accept(name, fields.value(i));
            }
        }
    }
}

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
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

    /** Returns why a request that is well formed is rejected, and the connection closed; null if it is not. */
    @Nullable
    OipException refusal() {
        OipException host = RequestTarget.refusal(request.target(), request.http10(), all(HttpHeaderNames.HOST));
        if (host != null) {
            return host;
        }
        for (String expect : all(HttpHeaderNames.EXPECT)) {
            if (!expect.equalsIgnoreCase("100-continue")) {
                return new OipException(
                        ErrorCode.EXPECTATION_FAILED,
                        "header Expect: '100-continue' is expected, got '" + expect + "'");
            }
        }
        return null;
    }

    /** Whether the client of a valid request waits for an interim response before its body; HTTP/1.0 has none. */
    boolean expectsContinue() {
        return !request.http10() && field(HttpHeaderNames.EXPECT) != null;
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

package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The head of an HTTP/2 request. Parsed values are cached, because many requests of a connection have the same head
 * ({@link Http2HeadCache}). Confined to the connection's event loop.
 */
final class Http2Head extends RequestHead {
    /** Length of " HTTP/1.1" and the space after the method, so that a request is as long as over HTTP/1. */
    private static final int REST_OF_LINE = 10;

    private final Http2Headers headers;
    private final String method;
    private final String uri;
    private final boolean grpc;
    private @Nullable GrpcRequestHead call;
    private RestRoutes.@Nullable PathRoute route;
    private @Nullable HeaderAllowList allowed;
    private Map<String, String> forwarded = Map.of();

    Http2Head(Http2Headers headers, ClientConnection connection) {
        super(connection);
        this.headers = headers;
        this.method = text(headers.method());
        this.uri = text(headers.path());
        this.grpc = GrpcNames.isGrpc(headers.get(HttpHeaderNames.CONTENT_TYPE));
    }

    private static String text(@Nullable CharSequence value) {
        return value == null ? "" : value.toString();
    }

    boolean of(Http2Headers others) {
        return headers == others;
    }

    boolean grpc() {
        return grpc;
    }

    /**
     * Returns why the request is rejected; null if it is not.
     *
     * @param tooLarge whether its head exceeded the limits of the decoder: too many or too large fields
     */
    @Nullable
    OipException refusal(boolean tooLarge) {
        if (method.length() + uri.length() + REST_OF_LINE > IngressSettings.MAX_REQUEST_LINE) {
            return RequestReader.LIMITS.lineTooLong();
        }
        return tooLarge
                ? new OipException(
                        ErrorCode.HEADERS_TOO_LARGE,
                        "header fields: at most " + IngressSettings.MAX_HEADER_FIELDS + " fields and "
                                + IngressSettings.MAX_HEADER_BYTES + " bytes are accepted")
                : expectsContinue() ? unmetExpectation() : null;
    }

    @Override
    GrpcRequestHead call() {
        GrpcRequestHead cached = call;
        if (cached == null) {
            requireOneAuthority();
            cached = super.call();
            call = cached;
        }
        return cached;
    }

    @Override
    RestRoutes.PathRoute route() {
        RestRoutes.PathRoute cached = route;
        if (cached == null) {
            requireOneAuthority();
            cached = super.route();
            route = cached;
        }
        return cached;
    }

    /** A Host field that differs from {@code :authority} would be ambiguous (RFC 9113, 8.3.1). */
    private void requireOneAuthority() {
        CharSequence named = headers.authority();
        if (named != null && !RequestTarget.isAuthority(text(named))) {
            throw RequestTarget.notAnAuthority(":authority", text(named));
        }
        String host = field(HttpHeaderNames.HOST);
        if (host == null) {
            return;
        }
        if (!RequestTarget.isAuthority(host)) {
            throw RequestTarget.notAnAuthority("header Host", host);
        }
        List<String> hosts = all(HttpHeaderNames.HOST);
        String authority = headers.authority() == null ? host : text(headers.authority());
        if (hosts.size() > 1 || !RequestTarget.same(text(headers.scheme()), authority, host)) {
            throw OipException.invalid("header Host: '" + authority + "' is expected as in :authority, got '"
                    + String.join("', '", hosts) + "'");
        }
    }

    @Override
    Map<String, String> forwarded(HeaderAllowList names) {
        if (!names.equals(allowed)) {
            forwarded = super.forwarded(names);
            allowed = names;
        }
        return forwarded;
    }

    @Override
    long contentLength() {
        return headers.getLong(HttpHeaderNames.CONTENT_LENGTH, -1L);
    }

    @Override
    public String method() {
        return method;
    }

    @Override
    public String uri() {
        return uri;
    }

    @Override
    @Nullable
    String field(CharSequence name) {
        CharSequence value = headers.get(name);
        return value == null ? null : value.toString();
    }

    @Override
    List<String> all(CharSequence name) {
        List<CharSequence> values = headers.getAll(name);
        List<String> texts = new ArrayList<>(values.size());
        for (CharSequence value : values) {
            texts.add(value.toString());
        }
        return texts;
    }

    @Override
    Map<String, String> fields(Predicate<String> wanted) {
        Map<String, String> found = new HashMap<>();
        for (Map.Entry<CharSequence, CharSequence> field : headers) {
            String name = field.getKey().toString();
            if (wanted.test(name)) {
                found.merge(name, field.getValue().toString(), (a, b) -> a + FieldSection.separator(name) + b);
            }
        }
        return found;
    }

    /**
     * The last heads of one connection. The connection returns the same object for a repeated field block, so its values
     * are parsed once.
     */
    static final class Http2HeadCache {
        /** Few clients alternate between more than this many distinct requests. */
        private static final int MAX_CACHED = 4;

        private final @Nullable Http2Head[] cached = new Http2Head[MAX_CACHED];
        private final ClientConnection connection;
        private int next;

        Http2HeadCache(ClientConnection connection) {
            this.connection = connection;
        }

        Http2Head of(Http2Headers headers) {
            for (Http2Head each : cached) {
                if (each != null && each.of(headers)) {
                    return each;
                }
            }
            Http2Head head = new Http2Head(headers, connection);
            cached[next] = head;
            next = (next + 1) % MAX_CACHED;
            return head;
        }
    }
}

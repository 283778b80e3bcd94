package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * The last heads of one connection. The connection returns the same object for a repeated field block, so its values
 * are parsed once.
 */
final class Http2HeadCache {
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

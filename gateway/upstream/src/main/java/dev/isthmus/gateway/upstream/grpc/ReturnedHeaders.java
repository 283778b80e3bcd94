package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Passes the allowed headers and trailers of responses to clients. A connection returns the same object for a repeated
 * field block, and most blocks have nothing to pass: those are remembered. For one event loop.
 */
final class ReturnedHeaders {
    private static final int REMEMBERED = 4;
    /** Of names and values. */
    private static final int MAX_BYTES = 16 * 1024;

    private final HeaderAllowList allowed;
    private final @Nullable Http2Headers[] withoutAny = new @Nullable Http2Headers[REMEMBERED];
    private int next;

    ReturnedHeaders(HeaderAllowList allowed) {
        this.allowed = allowed;
    }

    /** Returns false, and passes nothing, if it is more than clients accept. */
    boolean forward(Http2Headers metadata, Reply client) {
        for (Http2Headers each : withoutAny) {
            if (each == metadata) {
                return true;
            }
        }
        Map<String, String> shown = CallMetadata.returned(metadata, allowed);
        if (shown.isEmpty()) {
            withoutAny[next] = metadata;
            next = (next + 1) % REMEMBERED;
        } else if (bytes(shown) > MAX_BYTES) {
            return false;
        } else {
            client.headers(shown);
        }
        return true;
    }

    private static int bytes(Map<String, String> fields) {
        int bytes = 0;
        for (Map.Entry<String, String> field : fields.entrySet()) {
            bytes += field.getKey().length() + field.getValue().length();
        }
        return bytes;
    }
}

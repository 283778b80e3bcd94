package dev.isthmus.gateway.ingress;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The head of an HTTP request, whichever version of HTTP it came over. */
record RequestHead(String method, String uri, Fields fields) {

    /** Header fields by lower-case name. */
    @FunctionalInterface
    interface Fields {
        List<String> all(String name);
    }

    /** What may go upstream as it is. */
    private static final List<String> FORWARDED =
            List.of("traceparent", "tracestate", "baggage", "x-request-id", "authorization");

    static RequestHead of(String method, String uri, HttpHeaders headers) {
        return new RequestHead(method, uri, headers::getAll);
    }

    static RequestHead of(Http2Headers headers) {
        return new RequestHead(
                text(headers.method()),
                text(headers.path()),
                name -> headers.getAll(name).stream()
                        .map(CharSequence::toString)
                        .toList());
    }

    private static String text(@Nullable CharSequence value) {
        return value == null ? "" : value.toString();
    }

    /** The first field of this name. */
    @Nullable
    String field(String name) {
        List<String> all = fields.all(name);
        return all.isEmpty() ? null : all.get(0);
    }

    Map<String, String> forwarded() {
        Map<String, String> forwarded = new LinkedHashMap<>();
        for (String name : FORWARDED) {
            String value = field(name);
            if (value != null) {
                forwarded.put(name, value);
            }
        }
        return forwarded;
    }
}

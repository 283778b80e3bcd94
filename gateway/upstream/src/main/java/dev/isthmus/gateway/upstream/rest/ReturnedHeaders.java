package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The response headers that may be passed to the client. */
final class ReturnedHeaders {
    private ReturnedHeaders() {}

    static Map<String, String> of(HttpHeaders headers, HeaderAllowList allowed) {
        Map<String, String> found = Map.of();
        for (Map.Entry<String, String> header : headers) {
            String name = header.getKey().toLowerCase(Locale.ROOT);
            if (allowed.contains(name)) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.merge(name, header.getValue(), (first, next) -> first + "," + next);
            }
        }
        return found;
    }
}

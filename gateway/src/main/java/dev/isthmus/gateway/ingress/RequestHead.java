package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.NonFinite;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The head of an HTTP request, whichever version of HTTP it came over.
 *
 * @param names all names of header fields, in any case
 */
record RequestHead(String method, String uri, Fields fields, Supplier<Iterable<String>> names) {
    /**
     * Asks for a stream to be ended by its first error with a status, instead of going on after the text of it. It is answered
     * here and goes no further: Triton crashes when such a stream is cancelled while it fails.
     */
    static final String STATUS_OF_ERRORS = "triton_grpc_error";

    private static final String TIMEOUT = "x-request-timeout-ms";
    private static final String NON_FINITE = "nonfinite=";

    /** Header fields by lower-case name. */
    @FunctionalInterface
    interface Fields {
        List<String> all(String name);
    }

    static RequestHead of(String method, String uri, HttpHeaders headers) {
        return new RequestHead(method, uri, headers::getAll, headers::names);
    }

    static RequestHead of(Http2Headers headers) {
        return new RequestHead(
                text(headers.method()),
                text(headers.path()),
                name -> headers.getAll(name).stream()
                        .map(CharSequence::toString)
                        .toList(),
                () -> headers.names().stream().map(CharSequence::toString).toList());
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

    /** The headers that go upstream. */
    Map<String, String> forwarded(HeaderNames allowed) {
        Map<String, String> forwarded = new LinkedHashMap<>();
        for (String name : allowed.exact()) {
            put(forwarded, name);
        }
        if (!allowed.prefixes().isEmpty()) {
            TreeSet<String> found = new TreeSet<>();
            names.get().forEach(name -> found.add(name.toLowerCase(Locale.ROOT)));
            found.stream().filter(allowed::contains).forEach(name -> put(forwarded, name));
        }
        return forwarded;
    }

    private void put(Map<String, String> forwarded, String name) {
        String value = joined(name);
        if (value != null) {
            forwarded.put(name, value);
        }
    }

    /** The values of all fields of this name. */
    @Nullable
    String joined(String name) {
        List<String> values = fields.all(name);
        if (values.isEmpty()) {
            return null;
        }
        return values.size() == 1 ? values.get(0) : String.join(",", values);
    }

    /** When a REST client gives up, on the scale of {@link System#nanoTime()}: by either of two headers. */
    long deadline() {
        String millis = field(TIMEOUT);
        if (millis == null) {
            return GrpcTimeout.deadline(field("grpc-timeout"), System.nanoTime());
        }
        if (!millis.matches("[0-9]{1,10}") || Long.parseLong(millis) == 0) {
            throw OipException.invalid(
                    "header X-Request-Timeout-Ms: a positive number of milliseconds is expected, got '" + millis + "'");
        }
        return Math.min(
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Long.parseLong(millis)), Call.NO_DEADLINE - 1);
    }

    /** Whether the client wants its answer as server-sent events. */
    boolean acceptsEvents() {
        return fields.all("accept").stream()
                .flatMap(header -> List.of(header.split(",", -1)).stream())
                .anyMatch(each -> each.trim().toLowerCase(Locale.ROOT).startsWith("text/event-stream"));
    }

    /** How the client wants NaN and the infinities, by a parameter of its header Accept; null where it does not say. */
    @Nullable
    NonFinite nonFinite() {
        for (String header : fields.all("accept")) {
            String lower = header.toLowerCase(Locale.ROOT);
            int at = lower.indexOf(NON_FINITE);
            if (at >= 0) {
                String value = lower.substring(at + NON_FINITE.length()).split("[;,\\s]", -1)[0];
                for (NonFinite each : NonFinite.values()) {
                    if (each.name().toLowerCase(Locale.ROOT).equals(value)) {
                        return each;
                    }
                }
                throw OipException.invalid(
                        "header Accept: nonfinite is one of token, null, string, error; got '" + value + "'");
            }
        }
        return null;
    }
}

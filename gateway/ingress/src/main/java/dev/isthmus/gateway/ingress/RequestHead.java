package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The head of an HTTP request, of any version of HTTP. Field names are looked up in lower case, preferably as {@code
 * AsciiString}, which caches its hash.
 */
abstract sealed class RequestHead implements HeaderFields permits Http1Head, Http2Head {
    private static final Pattern MILLISECONDS = Pattern.compile("0*[1-9][0-9]{0,9}");
    private static final int MAX_DIGITS = 10;
    /** Capacity for the headers of most requests. */
    private static final int FEW = 8;

    private final ClientConnection connection;

    RequestHead(ClientConnection connection) {
        this.connection = connection;
    }

    /** The connection that it was received on. */
    ClientConnection connection() {
        return connection;
    }

    @Override
    public abstract String method();

    /** The path with its query. */
    @Override
    public abstract String uri();

    /** The first field of this name. */
    abstract @Nullable String field(CharSequence name);

    /** The values of all fields of this name. */
    abstract List<String> all(CharSequence name);

    /**
     * Calls {@code to} with the fields whose names it wants, in order; names are in lower case. Over HTTP/2 they
     * include the pseudo-header fields.
     */
    abstract void each(Predicate<String> wanted, BiConsumer<String, String> to);

    /** Length of the body as sent, in bytes; -1 if unknown. */
    abstract long contentLength();

    /**
     * The content codings of the body, in the order applied. Several fields form one list (RFC 9110, 5.3); {@code
     * identity} is omitted.
     */
    List<String> codings() {
        if (field(HttpHeaderNames.CONTENT_ENCODING) == null) {
            return List.of();
        }
        List<String> codings = new ArrayList<>();
        for (String field : all(HttpHeaderNames.CONTENT_ENCODING)) {
            for (String each : field.split(",", -1)) {
                String coding = each.strip();
                if (!coding.isEmpty() && !coding.equalsIgnoreCase("identity")) {
                    codings.add(coding);
                }
            }
        }
        return codings;
    }

    /** Whether the body is encoded, possibly with an unsupported coding. */
    boolean compressed() {
        return !codings().isEmpty();
    }

    /**
     * The operation of a REST request.
     *
     * @throws OipException NOT_FOUND or INVALID_ARGUMENT
     */
    RestRoutes.PathRoute route() {
        return RestRoutes.route(this);
    }

    /**
     * The parsed headers of a gRPC request.
     *
     * @throws OipException if the request cannot be served
     */
    GrpcRequestHead call() {
        return GrpcRequestHead.of(this);
    }

    /** The headers to forward upstream. */
    Map<String, String> forwarded(HeaderAllowList allowed) {
        Map<String, String> forwarded = new HashMap<>(FEW);
        each(
                name -> name.equals(HopCount.NAME) || (allowed.contains(name) && credible(name)),
                (name, value) -> forwarded.merge(name, value, RequestHead::joined));
        ForwardingHeaders.add(forwarded, allowed, connection);
        if (forwarded.isEmpty()) {
            return HopCount.FIRST;
        }
        forwarded.put(HopCount.NAME, HopCount.next(forwarded.get(HopCount.NAME)));
        return forwarded;
    }

    /** Whether the sender may set this field: only trusted proxies name other clients. */
    private boolean credible(String name) {
        return connection.trustedProxy() || !ForwardingHeaders.contains(name);
    }

    private static String joined(String first, String next) {
        return first + "," + next;
    }

    @Override
    public @Nullable String value(String name) {
        if (field(name) == null || !credible(name)) {
            return null;
        }
        List<String> values = all(name);
        return values.size() == 1 ? values.get(0) : String.join(",", values);
    }

    /** The deadline of a REST request, from either of two headers, on the scale of {@link System#nanoTime()}. */
    long deadline() {
        String millis = field(HeaderAllowList.TIMEOUT);
        if (millis == null) {
            return GrpcTimeout.deadline(field(GrpcNames.TIMEOUT), System.nanoTime());
        }
        if (millis.length() > MAX_DIGITS || !MILLISECONDS.matcher(millis).matches()) {
            throw OipException.invalid(
                    "header X-Request-Timeout-Ms: a positive number of milliseconds is expected, got '" + millis + "'");
        }
        return Math.min(
                System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Long.parseLong(millis)), Call.NO_DEADLINE - 1);
    }
}

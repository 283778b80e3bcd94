package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.net.RequestTarget;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The head of an HTTP request, of any version of HTTP. Field names are looked up in lower case, preferably as {@code
 * AsciiString}, which caches its hash.
 */
abstract sealed class RequestHead implements HeaderFields permits RequestHead.Http1Head, Http2Head {
    private static final Pattern MILLISECONDS = Pattern.compile("0*[1-9][0-9]{0,9}");
    private static final int MAX_DIGITS = 10;

    private final ClientConnection connection;

    RequestHead(ClientConnection connection) {
        this.connection = connection;
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
     * The fields whose names are wanted, by name in lower case; the values of several of one name are joined by commas.
     * Over HTTP/2 they include the pseudo-header fields. Must not be changed.
     */
    abstract Map<String, String> fields(Predicate<String> wanted);

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

    /** Whether the client of a valid request waits for an interim response before its body. */
    boolean expectsContinue() {
        return field(HttpHeaderNames.EXPECT) != null;
    }

    /** The failure of a request that expects anything else; null if it does not. */
    final @Nullable OipException unmetExpectation() {
        for (String expect : all(HttpHeaderNames.EXPECT)) {
            if (!expect.equalsIgnoreCase("100-continue")) {
                return new OipException(
                        ErrorCode.EXPECTATION_FAILED,
                        "header Expect: '100-continue' is expected, got '" + expect + "'");
            }
        }
        return null;
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
        Map<String, String> found =
                fields(name -> name.equals(HopCount.NAME) || (allowed.contains(name) && credible(name)));
        if (found.isEmpty() && !ForwardingHeaders.adds(allowed)) {
            return HopCount.FIRST;
        }
        Map<String, String> forwarded = new HashMap<>(found);
        ForwardingHeaders.add(forwarded, allowed, connection);
        forwarded.put(HopCount.NAME, HopCount.next(forwarded.get(HopCount.NAME)));
        return Map.copyOf(forwarded);
    }

    /** Whether the sender may set this field: only trusted proxies name other clients. */
    private boolean credible(String name) {
        return connection.trustedProxy() || !ForwardingHeaders.contains(name);
    }

    @Override
    public @Nullable String value(String name) {
        if (field(name) == null || !credible(name)) {
            return null;
        }
        List<String> values = all(name);
        return values.size() == 1 ? values.get(0) : String.join(FieldSection.separator(name), values);
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
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Long.parseLong(millis));
    }

    /**
     * The headers in which proxies name the client: X-Forwarded-* and Forwarded (RFC 7239). Those of a client that is no
     * trusted proxy are ignored, as it may write anything there.
     */
    static final class ForwardingHeaders {
        private static final AsciiString FOR = AsciiString.cached("x-forwarded-for");
        private static final String PROTO = "x-forwarded-proto";
        private static final AsciiString FORWARDED = AsciiString.cached("forwarded");
        private static final String PREFIX = "x-forwarded-";
        private static final String REAL_IP = "x-real-ip";
        private static final int UNKNOWN_PORT = 0;

        private ForwardingHeaders() {}

        /** Whether a field of this lower-case name says something of the client. */
        static boolean contains(String name) {
            return name.startsWith(PREFIX) || name.contentEquals(FORWARDED) || name.equals(REAL_IP);
        }

        /**
         * The client of a request of a trusted proxy: the last address that is not itself a trusted proxy's, the first one
         * if all are. X-Forwarded-For counts; Forwarded does if there is none. What precedes an entry that is no address
         * does not count.
         *
         * @return null if the headers name no address; the port is 0
         */
        static @Nullable InetSocketAddress client(RequestHead head, TrustedProxies proxies) {
            List<String> fields = head.all(FOR);
            boolean standard = fields.isEmpty();
            String list = String.join(",", standard ? head.all(FORWARDED) : fields);
            InetAddress client = null;
            int end = list.length();
            while (end > 0) {
                int comma = list.lastIndexOf(',', end - 1);
                String element = list.substring(comma + 1, end).strip();
                InetAddress hop = address(standard ? forParameter(element) : element);
                if (hop == null) {
                    break;
                }
                client = hop;
                if (!proxies.trusts(hop)) {
                    break;
                }
                end = comma;
            }
            return client == null ? null : new InetSocketAddress(client, UNKNOWN_PORT);
        }

        /** The value of {@code for} in an element of Forwarded; empty if there is none. */
        private static String forParameter(String element) {
            for (String parameter : element.split(";", -1)) {
                int equals = parameter.indexOf('=');
                if (equals > 0
                        && parameter
                                .substring(0, equals)
                                .strip()
                                .toLowerCase(Locale.ROOT)
                                .equals("for")) {
                    return parameter.substring(equals + 1).strip().replace("\"", "");
                }
            }
            return "";
        }

        /** An address with or without a port: {@code 192.0.2.1:80}, {@code [2001:db8::1]:80}, {@code 2001:db8::1}. */
        private static @Nullable InetAddress address(String node) {
            String address = node;
            if (node.startsWith("[")) {
                int close = node.indexOf(']');
                address = close < 0 ? "" : node.substring(1, close);
            } else if (node.indexOf(':') >= 0 && node.indexOf(':') == node.lastIndexOf(':')) {
                address = node.substring(0, node.indexOf(':'));
            }
            return NetUtil.createInetAddressFromIpAddressString(address);
        }

        /** Whether the header is forwarded by its name, or as one of X-Forwarded-*. */
        private static boolean asked(HeaderAllowList allowed, String name) {
            if (allowed.exact().contains(name)) {
                return true;
            }
            for (String prefix : allowed.prefixes()) {
                if (prefix.startsWith(PREFIX) && name.startsWith(prefix)) {
                    return true;
                }
            }
            return false;
        }

        /** Whether {@link #add} may add any. */
        static boolean adds(HeaderAllowList allowed) {
            return asked(allowed, FOR.toString()) || asked(allowed, FORWARDED.toString()) || asked(allowed, PROTO);
        }

        /**
         * Adds the sender of a request to those headers that are forwarded upstream by their name, or as X-Forwarded-*. A
         * prefix that merely covers them, such as {@code x-*}, does not tell servers of clients' addresses.
         */
        static void add(Map<String, String> forwarded, HeaderAllowList allowed, ClientConnection connection) {
            String scheme = connection.tls() == null ? "http" : "https";
            boolean asksFor = asked(allowed, FOR.toString());
            boolean asksForwarded = asked(allowed, FORWARDED.toString());
            if ((asksFor || asksForwarded) && connection.peer() instanceof InetSocketAddress peer) {
                String address = NetUtil.toAddressString(peer.getAddress());
                if (asksFor) {
                    forwarded.merge(FOR.toString(), address, (hops, last) -> hops + ", " + last);
                }
                if (asksForwarded) {
                    String node = address.indexOf(':') < 0 ? address : "\"[" + address + "]\"";
                    forwarded.merge(
                            FORWARDED.toString(),
                            "for=" + node + ";proto=" + scheme,
                            (hops, last) -> hops + ", " + last);
                }
            }
            if (asked(allowed, PROTO)) {
                forwarded.putIfAbsent(PROTO, scheme);
            }
        }
    }

    /** The head of an HTTP/1.1 request. */
    static final class Http1Head extends RequestHead {
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
            return host == null ? unmetExpectation() : host;
        }

        /** HTTP/1.0 has no interim responses. */
        @Override
        boolean expectsContinue() {
            return !request.http10() && super.expectsContinue();
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
        Map<String, String> fields(Predicate<String> wanted) {
            return request.fields().joined(wanted);
        }
    }
}

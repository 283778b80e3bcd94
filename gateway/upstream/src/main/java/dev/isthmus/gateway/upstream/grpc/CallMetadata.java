package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A call's headers as gRPC metadata. */
final class CallMetadata {
    private static final String RESERVED_PREFIX = "grpc-";
    private static final Set<String> RESERVED = Set.of("content-type", "te", "user-agent");
    static final HeaderField FIRST_HOP = HeaderField.constant(HopCount.NAME, "1");
    private static final HeaderField REQUEST_ID = HeaderField.of(HeaderAllowList.REQUEST_ID, "");
    private static final String SECRET = "authorization";

    private CallMetadata() {}

    /**
     * The request headers to send. Leaves out names reserved for gRPC and values that are not printable ASCII.
     *
     * @throws OipException INVALID_ARGUMENT for an invalid header name, or a binary value that is not Base64
     */
    static HeaderFieldList of(GrpcMethods.MethodFields head, Call call) {
        HeaderFieldList fields = call.headers().equals(HopCount.FIRST) ? head.firstHop() : with(head, call.headers());
        AsciiString id = call.context().sentId();
        return id == null ? fields : fields.with(REQUEST_ID.withValue(id));
    }

    private static HeaderFieldList with(GrpcMethods.MethodFields head, Map<String, String> headers) {
        HeaderFieldList fields = head.fields();
        for (Map.Entry<String, String> header : headers.entrySet()) {
            if (head.own().isEmpty() || !head.own().contains(HeaderAllowList.asRead(header.getKey()))) {
                fields = with(fields, header.getKey(), header.getValue());
            }
        }
        return fields;
    }

    private static HeaderFieldList with(HeaderFieldList head, String name, String value) {
        if (name.equals(HopCount.NAME)) {
            return head.with(value.equals("1") ? FIRST_HOP : HeaderField.of(name, value));
        }
        if (name.startsWith(RESERVED_PREFIX) || name.startsWith(":") || RESERVED.contains(name)) {
            return head;
        }
        if (!isName(name)) {
            throw OipException.invalid(
                    "header '" + name + "': a name of a-z, 0-9, '-', '_' and '.' is expected in gRPC metadata");
        }
        if (name.endsWith(GrpcNames.BINARY_SUFFIX)) {
            return withBinary(head, name, value);
        }
        if (!isPrintable(value)) {
            return head;
        }
        String text = value.strip();
        return head.with(name.equals(SECRET) ? HeaderField.secret(name, text) : HeaderField.of(name, text));
    }

    private static boolean isName(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean alphanumeric = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
            if (!alphanumeric && c != '-' && c != '_' && c != '.') {
                return false;
            }
        }
        return !name.isEmpty();
    }

    private static boolean isPrintable(String value) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < ' ' || c > '~') {
                return false;
            }
        }
        return true;
    }

    private static HeaderFieldList withBinary(HeaderFieldList head, String name, String values) {
        HeaderFieldList fields = head;
        try {
            for (String each : values.split(",", -1)) {
                byte[] value = Base64.getDecoder().decode(each.strip());
                fields = fields.with(name, Base64.getEncoder().withoutPadding().encodeToString(value));
            }
            return fields;
        } catch (IllegalArgumentException e) {
            throw OipException.invalid("header '" + name + "': base64 is expected in gRPC metadata");
        }
    }

    /** The response headers or trailers that may be passed to the client; binary values in Base64. */
    static Map<String, String> returned(Http2Headers metadata, HeaderAllowList allowed) {
        if (allowed.isEmpty()) {
            return Map.of();
        }
        Map<String, String> found = Map.of();
        for (Map.Entry<CharSequence, CharSequence> field : metadata) {
            String name = field.getKey().toString();
            String value = allowed.contains(name) ? value(name, field.getValue()) : null;
            if (value != null) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.merge(name, value, (first, next) -> first + "," + next);
            }
        }
        return found;
    }

    /** Null if a binary value is not Base64. */
    private static @Nullable String value(String name, CharSequence value) {
        if (!name.endsWith(GrpcNames.BINARY_SUFFIX)) {
            return value.toString();
        }
        StringJoiner padded = new StringJoiner(",");
        try {
            for (String each : value.toString().split(",", -1)) {
                padded.add(
                        Base64.getEncoder().encodeToString(Base64.getDecoder().decode(each.strip())));
            }
            return padded.toString();
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** The request headers for the methods of {@code inference.GRPCInferenceService} at one server, each made once. */
    static final class GrpcMethods {
        private static final String SERVICE = "inference.GRPCInferenceService";
        private static final String ACCEPTED = "identity,gzip";

        private final UpstreamSettings settings;
        private final Map<String, SecretText> own;
        private final Set<String> ownNames;
        private final Map<String, MethodHead> heads = new ConcurrentHashMap<>();
        final MethodHead modelInfer;

        /**
         * The request headers of one method.
         *
         * @param plain without a timeout
         * @param timed with the upstream's timeout, the same for all calls without a deadline
         */
        record MethodHead(MethodFields plain, MethodFields timed) {}

        /**
         * The fields that requests have in common.
         *
         * @param firstHop with the hop count of the first gateway, which most calls have as their only forwarded header
         * @param own the names of the gateway's own headers, {@linkplain HeaderAllowList#asRead as servers may read them}
         */
        record MethodFields(HeaderFieldList fields, HeaderFieldList firstHop, Set<String> own) {}

        /** @param own the gateway's own headers by lower-case name */
        GrpcMethods(UpstreamSettings settings, Map<String, SecretText> own) {
            this.settings = settings;
            this.own = own;
            this.ownNames = own.keySet().stream().map(HeaderAllowList::asRead).collect(Collectors.toUnmodifiableSet());
            this.modelInfer = of(OperationKind.INFER.grpcMethod());
        }

        /** @param method of the protocol's service, or the path of a method of another one */
        MethodHead of(String method) {
            return heads.computeIfAbsent(method, this::head);
        }

        private MethodHead head(String method) {
            HeaderFieldList plain = HeaderFieldList.of(
                    HeaderField.constant(":method", "POST"),
                    HeaderField.constant(":scheme", settings.tls() == null ? "http" : "https"),
                    HeaderField.constant(":path", method.startsWith("/") ? method : "/" + SERVICE + "/" + method),
                    HeaderField.constant(":authority", settings.authority()),
                    HeaderField.constant("content-type", GrpcNames.CONTENT_TYPE.toString()),
                    HeaderField.constant("te", "trailers"),
                    HeaderField.constant("user-agent", userAgent()),
                    HeaderField.constant(GrpcNames.ACCEPT_ENCODING.toString(), ACCEPTED));
            String timeout = GrpcTimeout.value(settings.timeout().toNanos());
            HeaderFieldList timed = plain.and(HeaderField.constant(GrpcNames.TIMEOUT.toString(), timeout));
            return new MethodHead(fields(plain), fields(timed));
        }

        private MethodFields fields(HeaderFieldList constants) {
            return new MethodFields(withOwn(constants), withOwn(constants.and(FIRST_HOP)), ownNames);
        }

        private HeaderFieldList withOwn(HeaderFieldList constants) {
            HeaderFieldList fields = constants;
            for (Map.Entry<String, SecretText> each : own.entrySet()) {
                fields = fields.with(
                        HeaderField.secret(each.getKey(), each.getValue().value()));
            }
            return fields;
        }

        private static String userAgent() {
            String version = GrpcMethods.class.getPackage().getImplementationVersion();
            return version == null ? "isthmus" : "isthmus/" + version;
        }
    }
}

package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HopCount;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Base64;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.StringJoiner;
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
     * @throws IllegalArgumentException for an invalid header name, or a binary value that is not Base64
     */
    static HeaderFieldList of(GrpcMethods.MethodFields head, Call call) {
        HeaderFieldList fields =
                call.headers().equals(HopCount.FIRST) ? head.firstHop() : with(head.fields(), call.headers());
        AsciiString id = call.context().sentId();
        return id == null ? fields : fields.with(REQUEST_ID.withValue(id));
    }

    private static HeaderFieldList with(HeaderFieldList head, Map<String, String> headers) {
        HeaderFieldList fields = head;
        for (Map.Entry<String, String> header : headers.entrySet()) {
            fields = with(fields, header.getKey(), header.getValue());
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
            throw new IllegalArgumentException(
                    "metadata name '" + name + "' must consist of a-z, 0-9, '-', '_' and '.'");
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
        for (String each : values.split(",", -1)) {
            byte[] value = Base64.getDecoder().decode(each.strip());
            fields = fields.with(name, Base64.getEncoder().withoutPadding().encodeToString(value));
        }
        return fields;
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

    /** The request headers for the methods of {@code inference.GRPCInferenceService} at one server, created once. */
    record GrpcMethods(
            MethodHead modelInfer,
            MethodHead modelStreamInfer,
            MethodHead serverReady,
            MethodHead serverMetadata,
            MethodHead modelReady,
            MethodHead modelMetadata,
            Map<Extension, MethodHead> extensions) {

        private static final String SERVICE = "inference.GRPCInferenceService";
        private static final String ACCEPTED = "identity,gzip";

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
         */
        record MethodFields(HeaderFieldList fields, HeaderFieldList firstHop) {
            static MethodFields of(HeaderFieldList fields) {
                return new MethodFields(fields, fields.and(CallMetadata.FIRST_HOP));
            }
        }

        static GrpcMethods of(String scheme, String authority, Duration timeout) {
            CommonHeaders heads = new CommonHeaders(scheme, authority, timeout);
            Map<Extension, MethodHead> extensions = new EnumMap<>(Extension.class);
            for (Extension extension : Extension.values()) {
                extensions.put(extension, heads.of(extension.grpcMethod()));
            }
            return new GrpcMethods(
                    heads.of(OperationKind.INFER.grpcMethod()),
                    heads.of(OperationKind.INFER_STREAM.grpcMethod()),
                    heads.of(OperationKind.SERVER_READY.grpcMethod()),
                    heads.of(OperationKind.SERVER_METADATA.grpcMethod()),
                    heads.of(OperationKind.MODEL_READY.grpcMethod()),
                    heads.of(OperationKind.MODEL_METADATA.grpcMethod()),
                    extensions);
        }

        MethodHead extension(Extension extension) {
            return Objects.requireNonNull(extensions.get(extension));
        }

        /** The headers that all methods share. */
        private record CommonHeaders(String scheme, String authority, Duration timeout) {
            MethodHead of(String name) {
                HeaderFieldList plain = HeaderFieldList.of(
                        HeaderField.constant(":method", "POST"),
                        HeaderField.constant(":scheme", scheme),
                        HeaderField.constant(":path", "/" + SERVICE + "/" + name),
                        HeaderField.constant(":authority", authority),
                        HeaderField.constant("content-type", GrpcNames.CONTENT_TYPE.toString()),
                        HeaderField.constant("te", "trailers"),
                        HeaderField.constant("user-agent", userAgent()),
                        HeaderField.constant(GrpcNames.ACCEPT_ENCODING.toString(), ACCEPTED));
                String value = GrpcTimeout.value(timeout.toNanos());
                HeaderFieldList timed = plain.and(HeaderField.constant(GrpcNames.TIMEOUT.toString(), value));
                return new MethodHead(MethodFields.of(plain), MethodFields.of(timed));
            }
        }

        private static String userAgent() {
            String version = GrpcMethods.class.getPackage().getImplementationVersion();
            return version == null ? "isthmus" : "isthmus/" + version;
        }
    }
}

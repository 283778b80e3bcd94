package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

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

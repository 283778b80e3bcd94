package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Extension;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.http2.Field;
import dev.isthmus.gateway.http2.Fields;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/** The methods of {@code inference.GRPCInferenceService} at one server: the heads of requests, made once. */
record Methods(
        Method modelInfer,
        Method modelStreamInfer,
        Method serverReady,
        Method serverMetadata,
        Method modelReady,
        Method modelMetadata,
        Map<Extension, Method> extensions) {

    private static final String SERVICE = "inference.GRPCInferenceService";
    private static final String ACCEPTED = "identity,gzip";

    /**
     * One method's head.
     *
     * @param plain without a timeout
     * @param timed with the upstream's own, which is the same for all calls without a deadline
     */
    record Method(Fields plain, Fields timed) {}

    static Methods of(String authority, Duration timeout) {
        Heads heads = new Heads(authority, timeout);
        Map<Extension, Method> extensions = new EnumMap<>(Extension.class);
        for (Extension extension : Extension.values()) {
            extensions.put(extension, heads.of(extension.grpcMethod()));
        }
        return new Methods(
                heads.of("ModelInfer"),
                heads.of("ModelStreamInfer"),
                heads.of("ServerReady"),
                heads.of("ServerMetadata"),
                heads.of("ModelReady"),
                heads.of("ModelMetadata"),
                extensions);
    }

    Method extension(Extension extension) {
        return Objects.requireNonNull(extensions.get(extension));
    }

    /** What they have in common. */
    private record Heads(String authority, Duration timeout) {
        Method of(String name) {
            Fields plain = Fields.of(
                    Field.constant(":method", "POST"),
                    Field.constant(":scheme", "http"),
                    Field.constant(":path", "/" + SERVICE + "/" + name),
                    Field.constant(":authority", authority),
                    Field.constant("content-type", GrpcNames.CONTENT_TYPE.toString()),
                    Field.constant("te", "trailers"),
                    Field.constant("user-agent", userAgent()),
                    Field.constant(GrpcNames.ACCEPT_ENCODING.toString(), ACCEPTED));
            String value = GrpcTimeout.value(timeout.toNanos());
            return new Method(plain, plain.with(Field.constant(GrpcNames.TIMEOUT.toString(), value)));
        }
    }

    private static String userAgent() {
        String version = Methods.class.getPackage().getImplementationVersion();
        return version == null ? "isthmus" : "isthmus/" + version;
    }
}

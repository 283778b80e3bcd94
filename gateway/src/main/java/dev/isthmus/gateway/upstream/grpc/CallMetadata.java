package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.HeaderNames;
import io.grpc.Metadata;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A call's headers as gRPC metadata. */
final class CallMetadata {
    private static final String RESERVED = "grpc-";

    private CallMetadata() {}

    /**
     * The metadata to send. Names that only gRPC itself may send are left out.
     *
     * @throws IllegalArgumentException for a name that HTTP/2 does not know, or a binary value that is not Base64
     */
    static Metadata of(Map<String, String> headers) {
        Metadata metadata = new Metadata();
        headers.forEach((name, value) -> put(metadata, name, value));
        return metadata;
    }

    /** What of an answer's headers or trailers the client is to see; binary values as base64. */
    static Map<String, String> returned(Metadata metadata, HeaderNames allowed) {
        Map<String, String> found = Map.of();
        for (String name : metadata.keys()) {
            String value = allowed.contains(name) ? value(metadata, name) : null;
            if (value != null) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.put(name, value);
            }
        }
        return found;
    }

    private static @Nullable String value(Metadata metadata, String name) {
        if (name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
            byte[] bytes = metadata.get(Metadata.Key.of(name, Metadata.BINARY_BYTE_MARSHALLER));
            return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
        }
        return metadata.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    }

    private static void put(Metadata metadata, String name, String value) {
        if (name.startsWith(RESERVED) || name.startsWith(":")) {
            return;
        }
        if (name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
            byte[] bytes = Base64.getDecoder().decode(value);
            metadata.put(Metadata.Key.of(name, Metadata.BINARY_BYTE_MARSHALLER), bytes);
        } else {
            metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
        }
    }
}

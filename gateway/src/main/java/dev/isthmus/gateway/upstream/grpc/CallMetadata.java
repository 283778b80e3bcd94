package dev.isthmus.gateway.upstream.grpc;

import io.grpc.Metadata;
import java.util.Base64;
import java.util.Map;

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

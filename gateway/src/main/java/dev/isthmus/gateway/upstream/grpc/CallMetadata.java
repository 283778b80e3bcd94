package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.HeaderNames;
import io.grpc.Metadata;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Function;
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
            Base64.Encoder base64 = Base64.getEncoder();
            return joined(
                    metadata.getAll(Metadata.Key.of(name, Metadata.BINARY_BYTE_MARSHALLER)), base64::encodeToString);
        }
        return joined(metadata.getAll(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER)), text -> text);
    }

    private static <T> @Nullable String joined(@Nullable Iterable<T> values, Function<T, String> text) {
        if (values == null) {
            return null;
        }
        StringJoiner joined = new StringJoiner(",");
        values.forEach(value -> joined.add(text.apply(value)));
        return joined.toString();
    }

    private static void put(Metadata metadata, String name, String value) {
        if (name.startsWith(RESERVED) || name.startsWith(":")) {
            return;
        }
        if (name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
            Metadata.Key<byte[]> key = Metadata.Key.of(name, Metadata.BINARY_BYTE_MARSHALLER);
            for (String each : value.split(",", -1)) {
                metadata.put(key, Base64.getDecoder().decode(each.strip()));
            }
        } else {
            metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
        }
    }
}

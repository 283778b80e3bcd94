package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The server that requests are sent to, and how.
 *
 * @param to an http or https URL without a path
 * @param ca PEM file with the certificates that vouch for the server's; null for those of the JVM
 * @param grpc whether requests are sent over gRPC, otherwise over REST
 * @param binary whether tensors are sent over REST as binary data
 * @param headers of each request
 * @param concurrency requests at a time
 */
public record ServerConnection(
        URI to,
        @Nullable Path ca,
        boolean grpc,
        BinaryTensorData binary,
        Map<String, String> headers,
        int concurrency) {

    public ServerConnection {
        Map<String, String> lower = new HashMap<>();
        headers.forEach((name, value) -> lower.put(name.toLowerCase(Locale.ROOT), value));
        headers = Map.copyOf(lower);
    }
}

package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is sent where.
 *
 * @param file of the payload log
 * @param to an http or https URL without a path
 * @param ca PEM file with the certificates that vouch for the server's; null for those of the JVM
 * @param grpc whether requests are sent over gRPC, otherwise over REST
 * @param binary whether tensors are sent over REST as binary data
 * @param headers of each request
 * @param models the models to request instead of recorded ones, by recorded name
 * @param compare whether responses are compared with the recorded ones
 * @param tolerance of the comparison
 * @param rate requests per second; 0 for as many as {@code concurrency} allows
 * @param concurrency requests at a time
 */
public record ReplaySettings(
        Path file,
        URI to,
        @Nullable Path ca,
        boolean grpc,
        BinaryTensorData binary,
        Map<String, String> headers,
        Map<String, ModelRef> models,
        boolean compare,
        FloatTolerance tolerance,
        double rate,
        int concurrency) {

    public ReplaySettings {
        Map<String, String> lower = new HashMap<>();
        headers.forEach((name, value) -> lower.put(name.toLowerCase(Locale.ROOT), value));
        headers = Map.copyOf(lower);
        models = Map.copyOf(models);
    }

    /** The model to request for a recorded one; its version is the recorded one unless the other has one. */
    ModelRef model(ModelRef recorded) {
        return models.getOrDefault(recorded.name(), recorded);
    }
}

package dev.isthmus.gateway.replay;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.compare.FloatTolerance;
import java.nio.file.Path;
import java.util.Map;

/**
 * What is sent where.
 *
 * @param file of the payload log
 * @param models the models to request instead of recorded ones, by recorded name
 * @param compare whether responses are compared with the recorded ones
 * @param tolerance of the comparison
 * @param rate requests per second; 0 for as many as the connection allows at a time
 */
public record ReplaySettings(
        Path file,
        ServerConnection connection,
        Map<String, ModelRef> models,
        boolean compare,
        FloatTolerance tolerance,
        double rate) {

    public ReplaySettings {
        models = Map.copyOf(models);
    }

    /** The model to request for a recorded one; its version is the recorded one unless the other has one. */
    ModelRef model(ModelRef recorded) {
        return models.getOrDefault(recorded.name(), recorded);
    }
}

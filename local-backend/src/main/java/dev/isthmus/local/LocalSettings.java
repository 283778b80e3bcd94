package dev.isthmus.local;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of the local backend.
 *
 * @param repository the folder of the models; null for the embedded ones only
 * @param embedded whether the embedded models are available
 * @param threads the number of threads that run models
 * @param queueSize the maximum number of requests queued for a thread; more are rejected
 * @param explicitControl whether models are loaded and unloaded at run time; if not, all models are loaded at start
 * @param load the models to load at start with explicit control; {@code *} for all
 * @param device the device of models that do not configure one: cpu, gpu:N or auto
 * @param loadTimeout the maximum time in which a version is opened and warmed up
 */
public record LocalSettings(
        @Nullable Path repository,
        boolean embedded,
        int threads,
        int queueSize,
        boolean explicitControl,
        List<String> load,
        String device,
        Duration loadTimeout) {
    public LocalSettings {
        load = List.copyOf(load);
    }
}

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
    private static final Duration LOAD_TIMEOUT = Duration.ofMinutes(2);

    public LocalSettings {
        load = List.copyOf(load);
    }

    /** Settings that load all models at start, on the CPU. */
    public static LocalSettings of(@Nullable Path repository, boolean embedded, int threads, int queueSize) {
        return new LocalSettings(repository, embedded, threads, queueSize, false, List.of(), "cpu", LOAD_TIMEOUT);
    }

    /** A copy with explicit control that loads only these models at start. */
    public LocalSettings explicit(String... models) {
        return new LocalSettings(repository, embedded, threads, queueSize, true, List.of(models), device, loadTimeout);
    }

    /** A copy with another limit for loads. */
    public LocalSettings within(Duration limit) {
        return new LocalSettings(repository, embedded, threads, queueSize, explicitControl, load, device, limit);
    }
}

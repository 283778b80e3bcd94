package dev.isthmus.local;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the local backend is told at start.
 *
 * @param repository the folder of the models; null: there are the embedded ones only
 * @param embedded whether the models that come with the gateway are there
 * @param threads that run models
 * @param queueSize requests that wait for a thread; more are refused
 * @param explicitControl whether models are loaded and unloaded while it runs; if not, everything is loaded at start
 * @param load the models that are loaded at start where it is explicit; {@code *} for all
 * @param device of models that name none: cpu, gpu:N or auto
 */
public record LocalSettings(
        @Nullable Path repository,
        boolean embedded,
        int threads,
        int queueSize,
        boolean explicitControl,
        List<String> load,
        String device) {

    public LocalSettings {
        load = List.copyOf(load);
    }

    /** Everything is loaded at start, on the CPU. */
    public static LocalSettings of(@Nullable Path repository, boolean embedded, int threads, int queueSize) {
        return new LocalSettings(repository, embedded, threads, queueSize, false, List.of(), "cpu");
    }

    /** The same, of which only these models are loaded at start. */
    public LocalSettings explicit(String... models) {
        return new LocalSettings(repository, embedded, threads, queueSize, true, List.of(models), device);
    }
}

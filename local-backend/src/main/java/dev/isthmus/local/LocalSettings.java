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
 * @param load the models that are loaded at start where control is explicit; {@code *} for all
 * @param device of models that name none: cpu, gpu:N or auto
 */
public record LocalSettings(
        @Nullable Path repository,
        boolean embedded,
        int threads,
        int queueSize,
        ModelControlMode control,
        List<String> load,
        String device) {

    /** Who decides what is loaded. */
    public enum ModelControlMode {
        /** Everything is loaded at start. */
        NONE,
        /** What is named is loaded at start, all else by load and unload. */
        EXPLICIT
    }

    public LocalSettings {
        load = List.copyOf(load);
    }

    /** Everything is loaded at start, on the CPU. */
    public static LocalSettings of(@Nullable Path repository, boolean embedded, int threads, int queueSize) {
        return new LocalSettings(repository, embedded, threads, queueSize, ModelControlMode.NONE, List.of(), "cpu");
    }

    /** The same, of which only these models are loaded at start. */
    public LocalSettings explicit(String... models) {
        return new LocalSettings(
                repository, embedded, threads, queueSize, ModelControlMode.EXPLICIT, List.of(models), device);
    }
}

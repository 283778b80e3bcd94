package dev.isthmus.local;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Settings of tests, on the CPU. */
public final class TestSettings {
    private TestSettings() {}

    /** Settings that load all models at start. */
    public static LocalSettings of(@Nullable Path repository, boolean embedded, int threads, int queueSize) {
        return new LocalSettings(
                repository, embedded, threads, queueSize, false, List.of(), "cpu", Duration.ofMinutes(2));
    }

    /** A copy with explicit control that loads only these models at start. */
    static LocalSettings explicit(LocalSettings all, String... models) {
        return new LocalSettings(
                all.repository(),
                all.embedded(),
                all.threads(),
                all.queueSize(),
                true,
                List.of(models),
                all.device(),
                all.loadTimeout());
    }
}

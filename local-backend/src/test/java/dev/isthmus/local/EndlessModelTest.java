package dev.isthmus.local;

import static dev.isthmus.local.ModelFolders.index;
import static dev.isthmus.local.ModelFolders.infer;
import static dev.isthmus.local.ModelFolders.load;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.oip.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model whose warm-up never ends, beside others. */
class EndlessModelTest {
    private static final Path ENDLESS = Path.of("src/test/resources/execution/endless.onnx");
    private static final Duration SHORT = Duration.ofSeconds(5);

    @TempDir
    Path root;

    private ModelFolders models;

    @BeforeEach
    void write() throws IOException {
        models = new ModelFolders(root);
        Files.copy(ENDLESS, root.resolve("endless.onnx"));
    }

    private LocalSettings hasty() {
        return new LocalSettings(root, false, 1, 16, false, List.of(), "cpu", SHORT);
    }

    private LocalSettings settings() {
        return TestSettings.of(root, false, 1, 16);
    }

    @Test
    void atStart_failsWithAReason_andNoOtherModelWaits() throws IOException {
        models.put("fp32", "good/1/model.onnx");
        try (LocalBackend backend = LocalBackend.start(hasty()).awaitStart()) {
            assertThat(infer(backend, "good")).isEqualTo("1");
            assertThat(index(backend))
                    .containsExactly(
                            new ModelStatus(
                                    "endless",
                                    "1",
                                    State.UNAVAILABLE,
                                    "its warm-up did not end within 5 s, the load_timeout"),
                            new ModelStatus("good", "1", State.READY, ""));
            assertThat(backend.obstacle()).isNotEmpty();
            assertThat(backend.abandonedLoads()).isZero();
        }
    }

    @Test
    void atStart_doesNotDelayTheStart_andIsLoading() {
        try (LocalBackend backend = LocalBackend.start(settings())) {
            assertThatThrownBy(() -> infer(backend, "endless"))
                    .hasMessage("model 'endless' is loading")
                    .extracting("code")
                    .isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(index(backend)).containsExactly(new ModelStatus("endless", "", State.LOADING, ""));
        }
    }

    @Test
    void load_failsWithAReason_andLaterLoadsDoNotWaitForIt() throws IOException {
        models.put("fp32", "good/1/model.onnx");
        try (LocalBackend backend = LocalBackend.start(TestSettings.explicit(settings()))) {
            CompletableFuture<String> endless = new CompletableFuture<>();
            backend.load("endless", new ModelFolders.Told<>(endless));
            load(backend, "good");
            assertThat(infer(backend, "good")).isEqualTo("1");
            assertThat(endless).isNotDone();
        }
    }

    @Test
    void configuredSample_isLimited_too() throws IOException {
        Files.createDirectories(root.resolve("sample/1"));
        Files.copy(ENDLESS, root.resolve("sample/1/model.onnx"));
        models.write("sample/config.pbtxt", """
                model_warmup { name: "z" inputs { key: "INPUT0"
                  value { data_type: TYPE_FP32 dims: [1, 1] zero_data: true } } }
                """);
        try (LocalBackend backend = LocalBackend.start(TestSettings.explicit(hasty()))) {
            assertThatThrownBy(() -> load(backend, "sample"))
                    .hasMessage("model 'sample' is not loaded: version 1: its warm-up did not end within 5 s, the"
                            + " load_timeout")
                    .extracting("code")
                    .isEqualTo(ErrorCode.FAILED_PRECONDITION);
        }
    }

    @Test
    void close_endsTheWarmUp() {
        List<CompletableFuture<String>> outcomes = List.of(new CompletableFuture<>(), new CompletableFuture<>());
        try (LocalBackend backend = LocalBackend.start(TestSettings.explicit(settings()))) {
            outcomes.forEach(outcome -> backend.load("endless", new ModelFolders.Told<>(outcome)));
        }
        assertThat(outcomes).allMatch(CompletableFuture::isCompletedExceptionally);
    }
}

package dev.isthmus.local;

import static dev.isthmus.local.ModelFolders.index;
import static dev.isthmus.local.ModelFolders.infer;
import static dev.isthmus.local.ModelFolders.load;
import static dev.isthmus.local.ModelFolders.unload;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loads and unloads real models at run time. */
class ModelControlTest {
    @TempDir
    Path root;

    private ModelFolders models;

    @BeforeEach
    void takeRoot() {
        models = new ModelFolders(root);
    }

    @Test
    void start_withoutControl_loadsWhatItCan_andListsTheRestWithReasons() throws IOException {
        models.put("fp32", "good/1/model.onnx");
        models.put("fp32", "bad/1/other.onnx");
        models.put("fp32", "wrong/1/model.onnx");
        models.write("wrong/config.pbtxt", "platform: 'tensorrt_plan'");
        Files.createDirectories(root.resolve("garbage/3"));
        models.write("garbage/3/model.onnx", "no model");
        try (LocalBackend backend =
                LocalBackend.start(TestSettings.of(root, false, 1, 4)).awaitStart()) {
            assertThat(infer(backend, "good")).isEqualTo("1");
            assertThat(backend.obstacle()).isNotEmpty();
            List<ModelStatus> index = index(backend);
            assertThat(index)
                    .extracting(ModelStatus::name, ModelStatus::version, ModelStatus::state)
                    .containsExactly(
                            tuple("bad", "1", State.UNAVAILABLE),
                            tuple("garbage", "3", State.UNAVAILABLE),
                            tuple("good", "1", State.READY),
                            tuple("wrong", "", State.UNAVAILABLE));
            assertThat(index.get(3).reason())
                    .isEqualTo("config.pbtxt: platform 'tensorrt_plan': 'onnxruntime_onnx' is expected");
            assertThat(index.get(2).reason()).isEmpty();
        }
    }

    @Test
    void loadAndUnload_withoutControl_areRefused() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend =
                LocalBackend.start(TestSettings.of(root, false, 1, 4)).awaitStart()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("only with 'model_control: explicit'");
            assertThatThrownBy(() -> unload(backend, "m")).extracting("code").isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(infer(backend, "m")).isEqualTo("1");
        }
    }

    @Test
    void explicit_loadsAtStartWhatIsNamed() throws IOException {
        models.put("fp32", "a/1/model.onnx");
        models.put("fp32", "b/1/model.onnx");
        try (LocalBackend backend = models.explicit("b")) {
            assertThat(backend.obstacle()).isEmpty();
            assertThat(backend.ready(ModelRef.of("b"))).isTrue();
            assertThat(index(backend).getFirst()).isEqualTo(new ModelStatus("a", "", State.UNAVAILABLE, "not loaded"));
        }
    }

    @Test
    void explicit_star_loadsAll() throws IOException {
        models.put("fp32", "a/1/model.onnx");
        models.put("fp32", "b/1/model.onnx");
        try (LocalBackend backend = models.explicit("*")) {
            assertThat(backend.models()).containsExactlyInAnyOrder("a", "b");
        }
    }

    @Test
    void explicit_namedModelThatIsMissing_isNotReady() {
        try (LocalBackend backend = models.explicit("none")) {
            assertThat(backend.obstacle()).isNotEmpty();
        }
    }

    @Test
    void load_thenUnload() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> infer(backend, "m")).hasMessage("unknown model 'm'");
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("1");
            assertThat(index(backend)).containsExactly(new ModelStatus("m", "1", State.READY, ""));
            unload(backend, "m");
            assertThatThrownBy(() -> infer(backend, "m"))
                    .hasMessage("model 'm' is not loaded: unloaded")
                    .extracting("code")
                    .isEqualTo(ErrorCode.NOT_FOUND);
            assertThat(index(backend)).containsExactly(new ModelStatus("m", "1", State.UNAVAILABLE, "unloaded"));
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("1");
        }
    }

    @Test
    void unloadedModel_doesNotMakeTheBackendUnready() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit("m")) {
            unload(backend, "m");
            assertThat(backend.obstacle()).isEmpty();
        }
    }

    @Test
    void unloadOfAModelThatFailed_isNotFound_butTheBackendWaitsForItNoMore() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", "backend: 'python'");
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(backend.obstacle()).isNotEmpty();
            assertThatThrownBy(() -> unload(backend, "m")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
            assertThat(backend.obstacle()).isEmpty();
        }
    }

    @Test
    void load_ofAnUnknownModel_isNotFound() {
        try (LocalBackend backend = models.explicit()) {
            assertThatThrownBy(() -> load(backend, "../m")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
            assertThatThrownBy(() -> unload(backend, "m")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
            assertThat(backend.models()).isEmpty();
        }
    }

    @Test
    void versions_byPolicy_andTheHighestByDefault() throws IOException {
        models.put("fp32", "m/2/model.onnx");
        models.put("fp32", "m/10/model.onnx");
        models.put("fp32", "m/1/model.onnx");
        models.write("m/config.pbtxt", "version_policy { latest { num_versions: 2 } }");
        try (LocalBackend backend = models.explicit("m")) {
            assertThat(infer(backend, "m")).isEqualTo("10");
            assertThat(infer(backend, "m", "2", DataType.FP32)).isEqualTo("2");
            assertThatThrownBy(() -> infer(backend, "m", "1", DataType.FP32))
                    .hasMessage("unknown model 'm' version '1'");
            assertThat(backend.metadata(ModelRef.of("m")).orElseThrow().versions())
                    .containsExactly("2", "10");
            assertThat(backend.metadata(new ModelRef("m", "2")).orElseThrow().versions())
                    .containsExactly("2");
        }
    }

    @Test
    void reload_takesTheNewVersion() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit("m")) {
            models.put("fp32", "m/2/model.onnx");
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("2");
            assertThat(index(backend)).containsExactly(new ModelStatus("m", "2", State.READY, ""));
        }
    }

    @Test
    void failedReload_keepsWhatWasLoaded_andSaysWhy() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit("m")) {
            Files.createDirectories(root.resolve("m/2"));
            models.write("m/2/model.onnx", "no model");
            assertThatThrownBy(() -> load(backend, "m"))
                    .hasMessageStartingWith(
                            "model 'm' is not loaded, the previous versions stay loaded: version 2: it is not an ONNX"
                                    + " model")
                    .extracting("code")
                    .isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(infer(backend, "m")).isEqualTo("1");
            assertThat(index(backend))
                    .extracting(ModelStatus::version, ModelStatus::state)
                    .containsExactly(tuple("1", State.READY), tuple("2", State.UNAVAILABLE));
            models.put("fp32", "m/2/model.onnx");
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("2");
        }
    }

    @Test
    void failedReload_ofTheWholeModel_saysWhyBesideWhatServes() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit("m")) {
            models.write("m/config.pbtxt", "max_batch_size: -1");
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("got -1");
            assertThat(infer(backend, "m")).isEqualTo("1");
            assertThat(index(backend))
                    .containsExactly(new ModelStatus(
                            "m",
                            "1",
                            State.READY,
                            "config.pbtxt: max_batch_size from 0 to 1000000 is expected, got -1"));
        }
    }

    @Test
    void statistics_countEachVersion_andOutliveReloads() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = models.explicit("m")) {
            infer(backend, "m");
            load(backend, "m");
            infer(backend, "m");
            assertThatThrownBy(() -> infer(backend, "m", "", DataType.FP64)).isInstanceOf(OipException.class);
            LocalStatistics statistics =
                    backend.statistics(new ModelRef("m", "1")).getFirst();
            assertThat(statistics.inferences()).isEqualTo(2);
            assertThat(statistics.executions()).isEqualTo(2);
            assertThat(statistics.success().count()).isEqualTo(2);
            assertThat(statistics.fail().count()).isEqualTo(1);
            assertThat(statistics.queue().count()).isEqualTo(2);
            assertThat(statistics.compute().nanos())
                    .isPositive()
                    .isLessThanOrEqualTo(statistics.success().nanos());
            assertThat(statistics.lastMillis()).isPositive();
            assertThat(backend.statistics(ModelRef.of(""))).hasSize(1);
            assertThat(backend.statistics(new ModelRef("m", "2"))).isEmpty();
        }
    }

    @Test
    void fortyReloads_underFourThreads_failNoRequest() throws Exception {
        models.put("fp32", "m/1/model.onnx");
        AtomicBoolean over = new AtomicBoolean();
        try (LocalBackend backend = models.explicit("m");
                ExecutorService clients = Executors.newFixedThreadPool(4)) {
            List<Future<Integer>> counts = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                counts.add(clients.submit(() -> {
                    int answered = 0;
                    while (!over.get()) {
                        infer(backend, "m");
                        answered++;
                    }
                    return answered;
                }));
            }
            try {
                for (int i = 2; i < 42; i++) {
                    models.put("fp32", "m/" + i + "/model.onnx");
                    load(backend, "m");
                }
            } finally {
                over.set(true);
            }
            for (Future<Integer> answered : counts) {
                assertThat(answered.get()).isPositive();
            }
            assertThat(infer(backend, "m")).isEqualTo("41");
        }
    }

    @Test
    void close_tellsThoseWhoWait() throws IOException {
        models.put("fp32", "m/1/model.onnx");
        List<CompletableFuture<String>> outcomes = new ArrayList<>();
        try (LocalBackend backend = models.explicit()) {
            for (int i = 0; i < 20; i++) {
                CompletableFuture<String> outcome = new CompletableFuture<>();
                backend.load("m", new ModelFolders.Told<>(outcome));
                outcomes.add(outcome);
            }
        }
        assertThat(outcomes).allMatch(CompletableFuture::isDone);
    }
}

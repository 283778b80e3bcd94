package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.isthmus.local.ModelStatus.State;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Loading and unloading of real models while the backend runs. */
class ModelControlTest {
    private static final Path MODELS = Path.of("src/test/resources/models");
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    @TempDir
    Path root;

    /** Puts an identity model of a datatype there. */
    private void put(String type, String path) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.write(file, Files.readAllBytes(MODELS.resolve("identity_" + type + "/1/model.onnx")));
    }

    private void write(String path, String text) throws IOException {
        Files.writeString(root.resolve(path), text);
    }

    private LocalBackend explicit(String... models) {
        return LocalBackend.start(LocalSettings.of(root, false, 2, 64).explicit(models));
    }

    private record Told<T>(CompletableFuture<T> future) implements LocalBackend.Outcome<T> {

        @Override
        public void done(T value) {
            future.complete(value);
        }

        @Override
        public void failed(OipException failure) {
            future.completeExceptionally(failure);
        }
    }

    private static void load(LocalBackend backend, String name) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        backend.load(name, new Told<>(outcome));
        assertThat(joined(outcome)).isEqualTo(name);
    }

    private static void unload(LocalBackend backend, String name) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        backend.unload(name, new Told<>(outcome));
        assertThat(joined(outcome)).isEqualTo(name);
    }

    private static List<ModelStatus> index(LocalBackend backend) {
        CompletableFuture<List<ModelStatus>> outcome = new CompletableFuture<>();
        backend.index(new Told<>(outcome));
        return joined(outcome);
    }

    /** The failure itself where there is one. */
    private static <T> T joined(CompletableFuture<T> outcome) {
        try {
            return outcome.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof OipException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /** The version that answered. */
    private static String infer(LocalBackend backend, String name, String version, DataType type) {
        Tensor input = new Tensor(
                "INPUT0",
                type,
                Shape.of(1, 1),
                Map.of(),
                ALLOCATOR.directBuffer().writeZero(type.size()));
        CompletableFuture<InferResponse> outcome = new CompletableFuture<>();
        InferRequest request = new InferRequest(new ModelRef(name, version), "", Map.of(), List.of(input), List.of());
        backend.infer(request, Long.MAX_VALUE, ALLOCATOR, new LocalBackend.Callback() {
            @Override
            public void done(InferResponse response) {
                response.release();
                outcome.complete(response);
            }

            @Override
            public void failed(OipException failure) {
                outcome.completeExceptionally(failure);
            }
        });
        return joined(outcome).model().version();
    }

    private static String infer(LocalBackend backend, String name) {
        return infer(backend, name, "", DataType.FP32);
    }

    @Test
    void start_withoutControl_loadsWhatItCan_andListsTheRestWithReasons() throws IOException {
        put("fp32", "good/1/model.onnx");
        put("fp32", "bad/1/other.onnx");
        put("fp32", "wrong/1/model.onnx");
        write("wrong/config.pbtxt", "platform: 'tensorrt_plan'");
        Files.createDirectories(root.resolve("garbage/3"));
        write("garbage/3/model.onnx", "no model");
        try (LocalBackend backend = LocalBackend.of(root, false, 1, 4)) {
            assertThat(infer(backend, "good")).isEqualTo("1");
            assertThat(backend.ready()).isFalse();
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
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = LocalBackend.of(root, false, 1, 4)) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("'model_control: explicit' only");
            assertThatThrownBy(() -> unload(backend, "m")).extracting("code").isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(infer(backend, "m")).isEqualTo("1");
        }
    }

    @Test
    void explicit_loadsAtStartWhatIsNamed() throws IOException {
        put("fp32", "a/1/model.onnx");
        put("fp32", "b/1/model.onnx");
        try (LocalBackend backend = explicit("b")) {
            assertThat(backend.ready()).isTrue();
            assertThat(backend.ready(ModelRef.of("b"))).isTrue();
            assertThat(index(backend).getFirst()).isEqualTo(new ModelStatus("a", "", State.UNAVAILABLE, "not loaded"));
        }
    }

    @Test
    void explicit_star_loadsAll() throws IOException {
        put("fp32", "a/1/model.onnx");
        put("fp32", "b/1/model.onnx");
        try (LocalBackend backend = explicit("*")) {
            assertThat(backend.models()).containsExactlyInAnyOrder("a", "b");
        }
    }

    @Test
    void explicit_namedModelThatIsMissing_isNotReady() {
        try (LocalBackend backend = explicit("none")) {
            assertThat(backend.ready()).isFalse();
        }
    }

    @Test
    void load_thenUnload() throws IOException {
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit()) {
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
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit("m")) {
            unload(backend, "m");
            assertThat(backend.ready()).isTrue();
        }
    }

    @Test
    void load_ofAnUnknownModel_isNotFound() {
        try (LocalBackend backend = explicit()) {
            assertThatThrownBy(() -> load(backend, "../m")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
            assertThatThrownBy(() -> unload(backend, "m")).extracting("code").isEqualTo(ErrorCode.NOT_FOUND);
            assertThat(backend.models()).isEmpty();
        }
    }

    @Test
    void versions_byPolicy_andTheHighestByDefault() throws IOException {
        put("fp32", "m/2/model.onnx");
        put("fp32", "m/10/model.onnx");
        put("fp32", "m/1/model.onnx");
        write("m/config.pbtxt", "version_policy { latest { num_versions: 2 } }");
        try (LocalBackend backend = explicit("m")) {
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
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit("m")) {
            put("fp32", "m/2/model.onnx");
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("2");
            assertThat(index(backend)).containsExactly(new ModelStatus("m", "2", State.READY, ""));
        }
    }

    @Test
    void failedReload_keepsWhatWasLoaded_andSaysWhy() throws IOException {
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit("m")) {
            Files.createDirectories(root.resolve("m/2"));
            write("m/2/model.onnx", "no model");
            assertThatThrownBy(() -> load(backend, "m"))
                    .hasMessageStartingWith(
                            "model 'm' is not loaded, what was loaded before stays: version 2: it is no model")
                    .extracting("code")
                    .isEqualTo(ErrorCode.FAILED_PRECONDITION);
            assertThat(infer(backend, "m")).isEqualTo("1");
            assertThat(index(backend))
                    .extracting(ModelStatus::version, ModelStatus::state)
                    .containsExactly(tuple("1", State.READY), tuple("2", State.UNAVAILABLE));
            put("fp32", "m/2/model.onnx");
            load(backend, "m");
            assertThat(infer(backend, "m")).isEqualTo("2");
        }
    }

    @Test
    void failedReload_ofTheWholeModel_saysWhyBesideWhatServes() throws IOException {
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit("m")) {
            write("m/config.pbtxt", "max_batch_size: -1");
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

    @ParameterizedTest
    @ValueSource(
            strings = {
                "input { name: 'INPUT0' data_type: TYPE_FP64 dims: [-1, -1] } |"
                        + " input 'INPUT0': datatype FP64, but the model has FP32",
                "input { name: 'INPUT0' data_type: TYPE_FP32 dims: [-1] } |"
                        + " input 'INPUT0': shape [-1], but the model has [-1,-1]",
                "output { name: 'Y' data_type: TYPE_FP32 dims: [-1] } |"
                        + " output 'Y': the model has none of this name, but [OUTPUT0]"
            })
    void configurationThatContradictsTheModel_failsItsLoad(String line) throws IOException {
        String[] parts = line.split(" \\| ", 2);
        put("fp32", "m/1/model.onnx");
        write("m/config.pbtxt", parts[0]);
        try (LocalBackend backend = explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining(parts[1]);
            assertThat(backend.ready(ModelRef.of("m"))).isFalse();
        }
    }

    @Test
    void configurationThatFits_isShown() throws IOException {
        put("fp32", "m/1/model.onnx");
        write("m/config.pbtxt", """
                max_batch_size: 8
                input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] }
                instance_group { count: 2 kind: KIND_CPU }
                dynamic_batching { max_queue_delay_microseconds: 100 }
                """);
        try (LocalBackend backend = explicit("m")) {
            var config = backend.config(ModelRef.of("m")).orElseThrow();
            assertThat(config.getPlatform()).isEqualTo("onnxruntime_onnx");
            assertThat(config.getMaxBatchSize()).isEqualTo(8);
            assertThat(config.getInput(0).getDimsList()).containsExactly(-1L);
            assertThat(config.getInstanceGroup(0).getCount()).isEqualTo(2);
            assertThat(config.getDynamicBatching().getMaxQueueDelayMicroseconds())
                    .isEqualTo(100);
            assertThat(backend.metadata(ModelRef.of("m"))
                            .orElseThrow()
                            .inputs()
                            .getFirst()
                            .shape())
                    .isEqualTo(Shape.of(-1, -1));
            assertThat(backend.config(ModelRef.of("none"))).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"bool", "uint8", "int8", "int16", "int32", "int64", "fp16", "bf16", "fp32", "fp64"})
    void warmUp_ofRandomData_isRunForEachDatatype(String type) throws IOException {
        put(type, "m/1/model.onnx");
        write("m/config.pbtxt", """
                model_warmup { name: "random" count: 2 inputs { key: "INPUT0"
                  value: { data_type: TYPE_%s dims: [ 2, 3 ] random_data: true } } }
                """.formatted(type.toUpperCase(Locale.ROOT)));
        try (LocalBackend backend = explicit("m")) {
            assertThat(backend.ready(ModelRef.of("m"))).isTrue();
            assertThat(backend.statistics(ModelRef.of("m")).getFirst().inferences())
                    .isZero();
        }
    }

    @Test
    void warmUp_thatTheModelDoesNotTake_failsItsLoad() throws IOException {
        put("fp32", "m/1/model.onnx");
        write("m/config.pbtxt", """
                model_warmup { name: "wrong" inputs { key: "X" value: { data_type: TYPE_FP32 dims: [ 1 ] } } }
                """);
        try (LocalBackend backend = explicit()) {
            assertThatThrownBy(() -> load(backend, "m")).hasMessageContaining("version 1: warm-up 'wrong': ");
        }
    }

    @Test
    void statistics_countEachVersion_andOutliveReloads() throws IOException {
        put("fp32", "m/1/model.onnx");
        try (LocalBackend backend = explicit("m")) {
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
        put("fp32", "m/1/model.onnx");
        AtomicBoolean over = new AtomicBoolean();
        try (LocalBackend backend = explicit("m");
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
                    put("fp32", "m/" + i + "/model.onnx");
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
        put("fp32", "m/1/model.onnx");
        List<CompletableFuture<String>> outcomes = new ArrayList<>();
        try (LocalBackend backend = explicit()) {
            for (int i = 0; i < 20; i++) {
                CompletableFuture<String> outcome = new CompletableFuture<>();
                backend.load("m", new Told<>(outcome));
                outcomes.add(outcome);
            }
        }
        assertThat(outcomes).allMatch(CompletableFuture::isDone);
    }
}

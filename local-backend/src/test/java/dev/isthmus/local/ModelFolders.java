package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/** A folder of models, and blocking calls to a backend on it. */
record ModelFolders(Path root) {
    private static final Path MODELS = Path.of("src/test/resources/models");
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    /** Adds an identity model of a datatype. */
    void put(String type, String path) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.write(file, Files.readAllBytes(MODELS.resolve("identity_" + type + "/1/model.onnx")));
    }

    /** Adds a model of the tests of runs. */
    void copy(String model, String path) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.copy(Path.of("src/test/resources/execution", model), file);
    }

    void write(String path, String text) throws IOException {
        Files.writeString(root.resolve(path), text);
    }

    LocalBackend explicit(String... models) {
        return LocalBackend.start(TestSettings.explicit(TestSettings.of(root, false, 2, 64), models))
                .awaitStart();
    }

    record Told<T>(CompletableFuture<T> future) implements LocalBackend.Outcome<T> {

        @Override
        public void done(T value) {
            future.complete(value);
        }

        @Override
        public void failed(OipException failure) {
            future.completeExceptionally(failure);
        }
    }

    static void load(LocalBackend backend, String name) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        backend.load(name, new Told<>(outcome));
        assertThat(joined(outcome)).isEqualTo(name);
    }

    static void unload(LocalBackend backend, String name) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        backend.unload(name, new Told<>(outcome));
        assertThat(joined(outcome)).isEqualTo(name);
    }

    static List<ModelStatus> index(LocalBackend backend) {
        CompletableFuture<List<ModelStatus>> outcome = new CompletableFuture<>();
        backend.index(new Told<>(outcome));
        return joined(outcome);
    }

    /** Waits for the result; throws the failure itself. */
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

    /** The best class of an output of zeros. */
    static String classes(LocalBackend backend, String name) {
        List<RequestedOutput> best =
                List.of(new RequestedOutput("OUTPUT0", Map.of("classification", new Parameter.Int64(1))));
        return infer(
                backend,
                ModelRef.of(name),
                DataType.FP32,
                best,
                response -> {
                    ByteBuf element = response.outputs().getFirst().data();
                    return element.toString(Integer.BYTES, element.getIntLE(0), StandardCharsets.UTF_8);
                },
                1,
                1);
    }

    /** The version that served the request. */
    static String infer(LocalBackend backend, String name, String version, DataType type) {
        return infer(backend, new ModelRef(name, version), type, 1, 1).model().version();
    }

    /** The released response to a request with zeros of this shape. */
    static InferResponse infer(LocalBackend backend, ModelRef model, DataType type, long... shape) {
        return infer(backend, model, type, List.of(), response -> response, shape);
    }

    private static <T> T infer(
            LocalBackend backend,
            ModelRef model,
            DataType type,
            List<RequestedOutput> outputs,
            Function<InferResponse, T> result,
            long... shape) {
        int bytes = Math.toIntExact(Shape.of(shape).elementCount() * type.size());
        Tensor input = new Tensor(
                "INPUT0",
                type,
                Shape.of(shape),
                Map.of(),
                ALLOCATOR.directBuffer().writeZero(bytes));
        CompletableFuture<T> outcome = new CompletableFuture<>();
        InferRequest request = new InferRequest(model, "", Map.of(), List.of(input), outputs);
        backend.infer(request, Long.MAX_VALUE, ALLOCATOR, new InferCallback() {
            @Override
            public void done(InferResponse response) {
                T value = result.apply(response);
                response.release();
                outcome.complete(value);
            }

            @Override
            public void failed(OipException failure) {
                outcome.completeExceptionally(failure);
            }
        });
        return joined(outcome);
    }

    static String infer(LocalBackend backend, String name) {
        return infer(backend, name, "", DataType.FP32);
    }
}

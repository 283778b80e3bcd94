package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.load;
import static dev.isthmus.local.ort.Fixtures.longs;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A model's metadata, the requests that it rejects, and failures of its runs. */
class OnnxModelTest {
    private static OnnxModel scalar;

    @BeforeAll
    static void loadModels() {
        scalar = load("scalar");
    }

    @AfterAll
    static void releaseModels() {
        scalar.release();
    }

    private static OipException failure(OnnxModel model, InferRequest request) {
        OipException failure = catchThrowableOfType(
                OipException.class, () -> run(model, request).forEach(Tensor::release));
        assertThat(failure).isNotNull();
        return failure;
    }

    private static void assertInvalid(InferRequest request, String message) {
        OipException failure = failure(scalar, request);
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).contains(message);
    }

    private static Tensor x() {
        return floats("x", new float[] {1});
    }

    private static Tensor times() {
        return longs("times", new long[] {2});
    }

    @Test
    void metadata_isTheModels() {
        assertThat(scalar.ref()).isEqualTo(new ModelRef("scalar", "1"));
        assertThat(scalar.inputs().get(1).dataType()).isEqualTo("INT64");
        assertThat(scalar.inputs().get(1).shape()).isEqualTo(Shape.SCALAR);
        assertThat(scalar.outputs())
                .singleElement()
                .satisfies(output -> assertThat(output.name()).isEqualTo("product"));
        assertThat(scalar.parameters())
                .containsEntry("runtime", new Parameter.Text("onnxruntime 1.29.0"))
                .containsEntry("provider", new Parameter.Text("CPUExecutionProvider"));
    }

    @Test
    void inputs_missingUnknownOrTwice_areRefused() {
        assertInvalid(request(x()), "model 'scalar': input 'times' is missing");
        assertInvalid(request(), "input 'x' is missing");
        assertInvalid(
                request(x(), times(), floats("z", new float[] {1})),
                "input 'z' is not one of its inputs; they are [x, times]");
        assertInvalid(request(x(), x()), "input 'x' is given twice");
    }

    @Test
    void inputs_ofAnotherDatatypeShapeOrSize_areRefused() {
        assertInvalid(request(x(), floats("times", new float[] {1})), "datatype INT64 is expected, got FP32");
        assertInvalid(request(floats("x", new float[] {1}, 1), times()), "shape [] is expected, got [1]");
        assertInvalid(
                request(tensor("x", DataType.FP32, new byte[5]), times()),
                "input 'x': shape [] of FP32 needs 4 bytes, got 5");
    }

    @Test
    void outputs_unknownOrTwice_areRefused() {
        assertInvalid(request(List.of("z"), x(), times()), "output 'z' is not one of its outputs; they are [product]");
        assertInvalid(request(List.of("product", "product"), x(), times()), "output 'product' is requested twice");
    }

    @Test
    void values_thatANodeRefuses_areTheClientsFault_withItsText() {
        assertRefused(
                "broadcast",
                "Attempting to broadcast an axis by a dimension other than 1. 2 by 3",
                floats("x", new float[2], 2),
                floats("y", new float[3], 3));
        assertRefused(
                "elements",
                "GatherElements op: Out of range value in index tensor",
                floats("x", new float[2], 2),
                longs("i", new long[] {9}, 1));
        assertRefused(
                "parsed",
                "the model does not accept the values",
                tensor("x", DataType.BYTES, Fixtures.elements("seven"), 1));
    }

    private static void assertRefused(String name, String text, Tensor... inputs) {
        OnnxModel model = load(name);
        OipException failure = failure(model, request(inputs));
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).isEqualTo("model '" + name + "': " + text);
        model.release();
    }

    @Test
    void memory_thatIsMissing_isNotTheClientsFault() {
        OnnxModel model = load("filled");
        OipException failure = failure(model, request(longs("s", new long[] {1L << 42}, 1)));
        assertThat(failure.code()).isEqualTo(ErrorCode.INTERNAL);
        assertThat(failure.message()).isEqualTo("model 'filled': the run failed");
        model.release();
    }

    @Test
    void outputsOfInputsWithoutElements_thatNoBufferCanHold_areRefused() {
        OnnxModel model = Graphs.load(Graphs.model(Graphs.graph(
                List.of(OnnxProto.node("MatMul", "y", "a", "b")),
                List.of(Graphs.floats("a", "n", "k"), Graphs.floats("b", "k", "m")),
                Graphs.floats("y", "n", "m"))));
        for (long extent : new long[] {1L << 20, 1L << 40}) {
            OipException failure =
                    failure(model, request(floats("a", new float[0], extent, 0), floats("b", new float[0], 0, extent)));
            assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(failure.message())
                    .isEqualTo("model 'm': output 'y': at most 2147483647 bytes can be sent, got shape [%d,%d] of FP32"
                            .formatted(extent, extent));
        }
        model.release();
    }

    @Test
    void bytes_thatEndWithinAnElement_areRefused() {
        OnnxModel model = load("identity_bytes");
        OipException failure =
                failure(model, request(tensor("INPUT0", DataType.BYTES, new byte[] {9, 0, 0, 0, 1}, 1, 1)));
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).contains("BYTES element 0 has a length of 9 bytes, but 1 are left");
        model.release();
    }

    @Test
    void sharedMemory_isRefused() {
        Tensor shared = new Tensor(
                "x",
                DataType.FP32,
                Shape.SCALAR,
                Map.of(Tensor.SHARED_MEMORY_REGION, new Parameter.Text("r")),
                Fixtures.ALLOCATOR.directBuffer());
        assertInvalid(request(shared, times()), "input 'x': local models do not support shared memory");
    }

    @Test
    void values_thatTheModelDoesNotTake_areTheClientsFault() {
        OnnxModel model = load("gather");
        OipException failure = failure(model, request(floats("x", new float[] {1, 2}, 2), longs("at", new long[] {5})));
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message())
                .startsWith("model 'gather': ")
                .contains("out of data bounds")
                .doesNotContain("Node");
        List<Tensor> outputs = run(model, request(floats("x", new float[] {1, 2}, 2), longs("at", new long[] {1})));
        assertThat(outputs.get(0).data().getFloatLE(0)).isEqualTo(2f);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void run_terminatedBefore_isCancelled() {
        InferRequest request = request(x(), times());
        try (RunHandle handle = new RunHandle()) {
            handle.terminate();
            OipException failure =
                    catchThrowableOfType(OipException.class, () -> scalar.run(request, handle, Fixtures.ALLOCATOR));
            assertThat(failure.code()).isEqualTo(ErrorCode.CANCELLED);
        } finally {
            request.release();
        }
    }

    @Test
    void handle_servesOneRunAfterTheOther() {
        try (RunHandle handle = new RunHandle()) {
            for (int i = 0; i < 3; i++) {
                InferRequest request = request(x(), times());
                scalar.run(request, handle, Fixtures.ALLOCATOR).forEach(Tensor::release);
                request.release();
            }
        }
    }

    @Test
    void handle_servesModelsOfAnySize() {
        OnnxModel named = load("named");
        try (RunHandle handle = new RunHandle()) {
            InferRequest small = request(x(), times());
            InferRequest large =
                    request(floats("x", new float[] {1, 2, 3, 4}, 1, 4), floats("y", new float[] {1, 1, 1, 1}, 1, 4));
            for (int i = 0; i < 2; i++) {
                List<Tensor> product = scalar.run(small, handle, Fixtures.ALLOCATOR);
                assertThat(product.get(0).data().getFloatLE(0)).isEqualTo(2f);
                product.forEach(Tensor::release);
                List<Tensor> sum = named.run(large, handle, Fixtures.ALLOCATOR);
                assertThat(sum.get(0).data().getFloatLE(12)).isEqualTo(5f);
                sum.forEach(Tensor::release);
            }
            small.release();
            large.release();
        }
        named.release();
    }

    @Test
    void handle_servesTheRunAfterOneThatFailed() {
        OnnxModel model = load("gather");
        try (RunHandle handle = new RunHandle()) {
            InferRequest outside = request(floats("x", new float[] {1, 2}, 2), longs("at", new long[] {5}));
            InferRequest inside = request(floats("x", new float[] {1, 2}, 2), longs("at", new long[] {1}));
            assertThat(catchThrowableOfType(OipException.class, () -> model.run(outside, handle, Fixtures.ALLOCATOR)))
                    .isNotNull();
            List<Tensor> outputs = model.run(inside, handle, Fixtures.ALLOCATOR);
            assertThat(outputs.get(0).data().getFloatLE(0)).isEqualTo(2f);
            outputs.forEach(Tensor::release);
            outside.release();
            inside.release();
        }
        model.release();
    }

    @Test
    void terminate_afterTheRun_doesNothing() {
        RunHandle used;
        try (RunHandle handle = new RunHandle()) {
            InferRequest request = request(x(), times());
            scalar.run(request, handle, Fixtures.ALLOCATOR).forEach(Tensor::release);
            request.release();
            used = handle;
        }
        used.terminate();
        assertThat(used.terminated()).isTrue();
    }

    @Test
    void file_thatIsNoModel_isRefused() {
        for (byte[] file : List.of(new byte[] {1, 2, 3}, new byte[0], "no model".getBytes(StandardCharsets.UTF_8))) {
            ModelSource source = new ModelSource("m", "1", ModelSettings.DEFAULT, () -> file, List.of());
            OipException failure = catchThrowableOfType(OipException.class, () -> OnnxModel.load(source, "cpu"));
            assertThat(failure.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION);
        }
    }

    @Test
    void release_ofTheLastUse_closes() {
        OnnxModel model = load("scalar");
        assertThat(model.retain()).isTrue();
        model.release();
        assertThat(model.closed()).isFalse();
        model.release();
        assertThat(model.closed()).isTrue();
        assertThat(model.retain()).isFalse();
    }
}

package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.ALLOCATOR;
import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.longs;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.tensor;
import static dev.isthmus.local.ort.OnnxProto.node;
import static dev.isthmus.local.ort.OnnxProto.value;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.TensorProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Operators that would end the process with some values of a request. */
class TrappingNodesTest {
    private static final NodeProto DIV = node("Div", "y", "a", "b");

    /** A model with the inputs a and b of a type, and the output y. */
    private static ModelProto binary(DataType type, NodeProto... nodes) {
        return Graphs.model(graph(type, nodes));
    }

    private static GraphProto graph(DataType type, NodeProto... nodes) {
        return Graphs.graph(List.of(nodes), List.of(value("a", type, -1), value("b", type, -1)), value("y", type, -1));
    }

    private static Tensor input(String name, DataType type, long... values) {
        ByteBuf data = ALLOCATOR.directBuffer();
        for (long value : values) {
            if (type == DataType.INT64) {
                data.writeLongLE(value);
            } else {
                data.writeIntLE((int) value);
            }
        }
        return tensor(name, type, data, values.length);
    }

    /** The output of a model with these inputs. */
    private static long[] output(ModelProto file, DataType type, long[] a, long[] b) {
        OnnxModel model = Graphs.load(file);
        List<Tensor> outputs = run(model, request(input("a", type, a), input("b", type, b)));
        ByteBuf data = outputs.getFirst().data();
        long[] values = LongStream.range(0, outputs.getFirst().shape().elementCount())
                .map(i -> type == DataType.INT64 ? data.getLongLE((int) i * 8) : data.getIntLE((int) i * 4))
                .toArray();
        outputs.forEach(Tensor::release);
        model.release();
        return values;
    }

    private static long least(DataType type) {
        return type == DataType.INT64 ? Long.MIN_VALUE : Integer.MIN_VALUE;
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64"})
    void quotient_ofTheLeastNumberAndMinusOne_isTheLeastNumber(DataType type) {
        long least = least(type);
        long[] a = {least, 7, -7, least, least, 6, -9};
        long[] b = {-1, -1, -1, 2, -2, 4, 2};
        assertThat(output(binary(type, DIV), type, a, b)).containsExactly(least, -7, 7, least / 2, least / -2, 1, -4);
        assertThat(output(binary(type, DIV), type, a, new long[] {-1}))
                .containsExactly(least, -7, 7, least, least, -6, 9);
        assertThat(output(binary(type, DIV), type, new long[] {least}, new long[] {-1, 1}))
                .containsExactly(least, least);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64"})
    void remainder_ofTheLeastNumberAndMinusOne_isZero(DataType type) {
        long[] a = {least(type), 7, -7, least(type) + 1, -5};
        long[] b = {-1, -1, 3, 2, -3};
        long[] expected = new long[a.length];
        Arrays.setAll(expected, i -> Math.floorMod(a[i], b[i]));
        assertThat(output(binary(type, node("Mod", "y", "a", "b")), type, a, b)).containsExactly(expected);
    }

    @Test
    void division_inTheBodyOfAnotherNode_isGuarded() {
        GraphProto body = GraphProto.newBuilder()
                .setName("body")
                .addNode(node("Div", "inner", "a", "b"))
                .addOutput(value("inner", DataType.INT64, -1))
                .build();
        NodeProto branches = Graphs.with(
                Graphs.with(node("If", "y", "some"), Graphs.body("then_branch", body)),
                Graphs.body("else_branch", body));
        ModelProto model = binary(
                DataType.INT64,
                node("Size", "size", "a"),
                Graphs.with(node("Cast", "some", "size"), Graphs.number("to", OrtTypes.number(DataType.BOOL))),
                branches);
        assertThat(output(model, DataType.INT64, new long[] {Long.MIN_VALUE}, new long[] {-1}))
                .containsExactly(Long.MIN_VALUE);
    }

    @Test
    void division_inAFunction_isGuardedForEachType() {
        var half = Graphs.function("Half", List.of("a", "b"), DIV);
        NodeProto call = Graphs.of(node("Half", "y", "a", "b"), "my");
        ModelProto integers = Graphs.model(graph(DataType.INT32, call), half);
        assertThat(output(integers, DataType.INT32, new long[] {Integer.MIN_VALUE}, new long[] {-1}))
                .containsExactly(Integer.MIN_VALUE);
        OnnxModel floats = Graphs.load(Graphs.model(graph(DataType.FP32, call), half));
        List<Tensor> outputs = run(
                floats,
                request(floats("a", new float[] {1, 3, 1, 1}, 4), floats("b", new float[] {-1, -0.5f, -1.5f, -0f}, 4)));
        ByteBuf data = outputs.getFirst().data();
        assertThat(new float[] {data.getFloatLE(0), data.getFloatLE(4), data.getFloatLE(8), data.getFloatLE(12)})
                .containsExactly(-1, -6, 1 / -1.5f, Float.NEGATIVE_INFINITY);
        outputs.forEach(Tensor::release);
        floats.release();
    }

    @Test
    void division_ofConstants_isGuardedBeforeTheyAreFolded() {
        GraphProto graph = graph(
                        DataType.INT64, node("Div", "quotient", "least", "minus"), node("Add", "y", "a", "quotient"))
                .toBuilder()
                .addInitializer(Graphs.scalar("least", Long.MIN_VALUE))
                .addInitializer(Graphs.scalar("minus", -1))
                .build();
        assertThat(output(Graphs.model(graph), DataType.INT64, new long[] {1}, new long[] {0}))
                .containsExactly(Long.MIN_VALUE + 1);
    }

    @ParameterizedTest
    @EnumSource(names = {"FP32", "FP64", "INT8", "INT16", "UINT8", "UINT32"})
    void division_ofOtherTypes_isLeftAlone(DataType type) {
        ModelProto model = binary(type, DIV);
        assertThat(TrappingNodes.guarded(model)).isSameAs(model);
    }

    @Test
    void remainderOfFloats_isLeftAlone() {
        ModelProto model = binary(DataType.INT64, Graphs.with(node("Mod", "y", "a", "b"), Graphs.number("fmod", 1)));
        assertThat(TrappingNodes.guarded(model)).isSameAs(model);
    }

    @ParameterizedTest
    @CsvSource({"2, true", "1, true", "-2, true", "-1, false"})
    void divisionByAConstant_isGuardedIfItIsMinusOne(long divisor, boolean same) {
        GraphProto plain = graph(DataType.INT64, node("Div", "y", "a", "by"));
        ModelProto initialized = Graphs.model(
                plain.toBuilder().addInitializer(Graphs.scalar("by", divisor)).build());
        ModelProto node = Graphs.model(plain.toBuilder()
                .clearNode()
                .addNode(Graphs.with(node("Constant", "by"), Graphs.tensor("value", Graphs.scalar("", divisor))))
                .addNode(node("Div", "y", "a", "by"))
                .build());
        ByteBuf raw = ALLOCATOR.buffer().writeLongLE(3).writeLongLE(divisor);
        byte[] bytes = new byte[16];
        raw.readBytes(bytes).release();
        ModelProto packed = Graphs.model(plain.toBuilder()
                .addInitializer(TensorProto.newBuilder()
                        .setName("by")
                        .setDataType(OrtTypes.number(DataType.INT64))
                        .addDims(2)
                        .setRawData(ByteString.copyFrom(bytes)))
                .build());
        for (ModelProto model : List.of(initialized, node, packed)) {
            assertThat(TrappingNodes.guarded(model).equals(model)).isEqualTo(same);
        }
        assertThat(output(initialized, DataType.INT64, new long[] {Long.MIN_VALUE, 4}, new long[] {0}))
                .containsExactly(Long.MIN_VALUE / divisor, 4 / divisor);
    }

    @Test
    void divisionByZero_failsItsRunOnly() {
        OnnxModel model = Graphs.load(binary(DataType.INT64, DIV));
        assertThatThrownBy(() ->
                        run(model, request(longs("a", new long[] {1, 2}, 2), longs("b", new long[] {0, -1}, 2))))
                .isInstanceOf(OipException.class);
        model.release();
    }

    @Test
    void division_thatCannotBeGuarded_isRefused() {
        ModelProto old = binary(DataType.INT32, DIV.toBuilder().setName("half").build()).toBuilder()
                .setOpsetImport(0, OnnxProto.opset(8))
                .build();
        assertThatThrownBy(() -> Graphs.load(old))
                .isInstanceOfSatisfying(
                        OipException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.FAILED_PRECONDITION))
                .hasMessageContaining("node 'half': Div of integers needs opset 9 or later, got 8");
    }

    private static void assertSpectrum(ModelProto file, int size, Tensor... inputs) {
        OnnxModel model = Graphs.load(file);
        if (size > 0) {
            List<Tensor> outputs = run(model, request(inputs));
            assertThat(outputs.getFirst().shape().elementCount()).isEqualTo(size);
            outputs.forEach(Tensor::release);
        } else {
            assertThatThrownBy(() -> run(model, request(inputs))).isInstanceOf(OipException.class);
        }
        model.release();
    }

    @ParameterizedTest
    @CsvSource({"17, 0, 0", "17, 4, 8", "20, 0, 0", "20, 4, 8"})
    void transform_ofAnEmptySignal_failsItsRunOnly(int opset, int samples, int size) {
        ValueInfoProto signal = value("x", DataType.FP32, 1, -1, 1);
        ValueInfoProto length = value("l", DataType.INT32);
        ModelProto plain = Graphs.model(
                Graphs.graph(List.of(node("DFT", "y", "x")), List.of(signal), value("y", DataType.FP32, 1, -1, 2)));
        ModelProto sized = Graphs.model(Graphs.graph(
                List.of(node("DFT", "y", "x", "l")), List.of(signal, length), value("y", DataType.FP32, 1, -1, 2)));
        assertSpectrum(
                plain.toBuilder().setOpsetImport(0, OnnxProto.opset(opset)).build(),
                size,
                floats("x", new float[samples], 1, samples, 1));
        assertSpectrum(
                sized.toBuilder().setOpsetImport(0, OnnxProto.opset(opset)).build(),
                size,
                floats("x", new float[samples], 1, samples, 1),
                tensor("l", DataType.INT32, ALLOCATOR.directBuffer().writeIntLE(4)));
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "4, 12"})
    void frames_withoutLength_failTheirRunOnly(int length, int size) {
        List<ValueInfoProto> signal = List.of(value("x", DataType.FP32, 1, -1, 1), value("step", DataType.INT64));
        ModelProto framed = Graphs.model(Graphs.graph(
                List.of(node("STFT", "y", "x", "step", "", "frame")),
                List.of(signal.get(0), signal.get(1), value("frame", DataType.INT64)),
                value("y", DataType.FP32, 1, -1, -1, 2)));
        ModelProto windowed = Graphs.model(Graphs.graph(
                List.of(node("STFT", "y", "x", "step", "window")),
                List.of(signal.get(0), signal.get(1), value("window", DataType.FP32, -1)),
                value("y", DataType.FP32, 1, -1, -1, 2)));
        assertSpectrum(
                framed,
                size,
                floats("x", new float[8], 1, 8, 1),
                longs("step", new long[] {4}),
                longs("frame", new long[] {length}));
        assertSpectrum(
                windowed,
                size,
                floats("x", new float[8], 1, 8, 1),
                longs("step", new long[] {4}),
                floats("window", new float[length], length));
    }

    @Test
    void triangle_atTheLeastDiagonal_isTheWholeMatrix() {
        NodeProto cut = node("Trilu", "y", "a", "k");
        GraphProto graph = Graphs.graph(
                List.of(cut),
                List.of(value("a", DataType.INT64, -1, -1), value("k", DataType.INT64)),
                value("y", DataType.INT64, -1, -1));
        OnnxModel model = Graphs.load(Graphs.model(graph));
        List<Tensor> outputs =
                run(model, request(longs("a", new long[] {1, 2, 3, 4}, 2, 2), longs("k", new long[] {Long.MIN_VALUE})));
        assertThat(outputs.getFirst().data().getLongLE(16)).isEqualTo(3);
        outputs.forEach(Tensor::release);
        model.release();
    }
}

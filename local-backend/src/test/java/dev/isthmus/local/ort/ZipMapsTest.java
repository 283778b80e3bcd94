package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.floats;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.OnnxProto.node;
import static dev.isthmus.local.ort.OnnxProto.value;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.onnx.AttributeProto;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.ValueInfoProto;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nodes that make maps, and others with their name. */
class ZipMapsTest {
    private static final NodeProto PLAIN = Graphs.of(node("ZipMap", "y", "x"), OnnxProto.ML);
    private static final int INTS = 7;
    private static final int STRINGS = 8;

    private static AttributeProto.Builder numbers() {
        return AttributeProto.newBuilder()
                .setName("classlabels_int64s")
                .setType(INTS)
                .addInts(4)
                .addInts(9);
    }

    private static AttributeProto.Builder texts() {
        return AttributeProto.newBuilder()
                .setName("classlabels_strings")
                .setType(STRINGS)
                .addStrings(ByteString.copyFromUtf8("a"))
                .addStrings(ByteString.copyFromUtf8("b"));
    }

    private static ModelProto model(NodeProto node, long columns) {
        return Graphs.model(Graphs.graph(
                List.of(node),
                List.of(value("x", DataType.FP32, -1, columns)),
                ValueInfoProto.newBuilder().setName("y").build()));
    }

    @Test
    void zipMap_isTheTensorWithItsLabels() {
        OnnxModel model = Graphs.load(model(Graphs.with(PLAIN, texts()), -1));
        assertThat(model.outputs().getFirst().parameters().get("labels")).hasToString("Text[value=[\"a\",\"b\"]]");
        List<Tensor> outputs = run(model, request(floats("x", new float[] {1, 2}, 1, 2)));
        assertThat(outputs.getFirst().data().getFloatLE(4)).isEqualTo(2);
        outputs.forEach(Tensor::release);
        model.release();
    }

    @Test
    void functionOfThatName_isWhatItIs() {
        GraphProto graph = Graphs.graph(
                List.of(Graphs.of(node("ZipMap", "y", "x"), "my")),
                List.of(value("x", DataType.FP32, -1)),
                value("y", DataType.FP32, -1));
        ModelProto file = Graphs.model(graph, Graphs.function("ZipMap", List.of("a"), node("Add", "y", "a", "a")));
        OnnxModel model = Graphs.load(file);
        List<Tensor> outputs = run(model, request(floats("x", new float[] {1, 2}, 2)));
        assertThat(outputs.getFirst().data().getFloatLE(0)).isEqualTo(2);
        assertThat(outputs.getFirst().data().getFloatLE(4)).isEqualTo(4);
        outputs.forEach(Tensor::release);
        model.release();
    }

    static Stream<ModelProto> refused() {
        ModelProto valid = model(Graphs.with(PLAIN, numbers()), 2);
        return Stream.of(
                model(PLAIN, 2),
                model(Graphs.with(Graphs.with(PLAIN, numbers()), texts()), 2),
                model(Graphs.with(Graphs.with(PLAIN, numbers()), Graphs.number("other", 1)), 2),
                model(Graphs.of(Graphs.with(PLAIN, numbers()), ""), 2),
                valid.toBuilder()
                        .setGraph(valid.getGraph().toBuilder().setInput(0, value("x", DataType.FP64, -1, 2)))
                        .build());
    }

    @ParameterizedTest
    @MethodSource("refused")
    void zipMap_thatOnnxRuntimeRefuses_isRefused(ModelProto model) {
        assertThatThrownBy(() -> Graphs.load(model)).isInstanceOf(OipException.class);
    }

    @Test
    void zipMap_ofOtherColumnsThanLabels_failsTheRun() {
        OnnxModel model = Graphs.load(model(Graphs.with(PLAIN, numbers()), -1));
        assertThatThrownBy(() -> run(model, request(floats("x", new float[] {1, 2, 3}, 1, 3)))
                        .forEach(Tensor::release))
                .isInstanceOf(OipException.class)
                .hasMessageContaining("output 'y': shape [-1,2] is expected, got [1,3]");
        model.release();
    }
}

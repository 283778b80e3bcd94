package dev.isthmus.gateway.validation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.TensorHead;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelSignatureTest {
    private static final Map<String, Parameter> DECODED = Map.of("content_type", new Parameter.Text("np"));

    private record Head(String name, DataType dataType, Shape shape, Map<String, Parameter> parameters)
            implements TensorHead {}

    private static TensorMetadata declared(String name, String dataType, long... shape) {
        return new TensorMetadata(name, dataType, Shape.of(shape), Map.of());
    }

    private static ModelMetadata metadata(List<TensorMetadata> inputs, String... outputs) {
        return new ModelMetadata(
                "m",
                List.of(),
                "",
                inputs,
                Stream.of(outputs).map(name -> declared(name, "FP32", -1)).toList(),
                Map.of());
    }

    private static TensorHead input(String name, DataType type, long... shape) {
        return new Head(name, type, Shape.of(shape), Map.of());
    }

    private static RequestOutline request(List<TensorHead> inputs, String... outputs) {
        return new RequestOutline(
                Map.of(),
                inputs,
                Stream.of(outputs)
                        .map(name -> new RequestedOutput(name, Map.of()))
                        .toList());
    }

    private static List<String> texts(ModelMetadata model, RequestOutline request) {
        return ModelSignature.of(model).mismatches(request).stream()
                .map(each -> each.text("m"))
                .toList();
    }

    private static long[] extents(String text) {
        return text.isEmpty()
                ? new long[0]
                : Stream.of(text.split(" ", -1)).mapToLong(Long::parseLong).toArray();
    }

    @ParameterizedTest
    @CsvSource({
        "-1 4, 2 4, true",
        "-1 4, 0 4, true",
        "-1 4, 4, false",
        "-1 4, 2 5, false",
        "-1 4, 2 4 1, false",
        "2, 2, true",
        "2, 3, false",
        "-1 -1, 7 9, true",
        "'', 7 9, true",
        "-1, '', false"
    })
    void shapes_matchInRankAndFixedExtents(String declared, String given, boolean matches) {
        List<String> texts = texts(
                metadata(List.of(declared("x", "FP32", extents(declared)))),
                request(List.of(input("x", DataType.FP32, extents(given)))));
        String expected = "input 'x' of model 'm': shape " + Shape.of(extents(declared)) + " is expected, got "
                + Shape.of(extents(given));
        assertThat(texts).isEqualTo(matches ? List.of() : List.of(expected));
    }

    @Test
    void datatypes_areEqual_unlessTheProtocolDoesNotKnowThem() {
        List<TensorHead> sent = List.of(input("x", DataType.INT64, 1));
        assertThat(texts(metadata(List.of(declared("x", "FP32", 1))), request(sent)))
                .containsExactly("input 'x' of model 'm': datatype FP32 is expected, got INT64");
        assertThat(texts(metadata(List.of(declared("x", "STRING", 1))), request(sent)))
                .isEmpty();
    }

    @Test
    void inputs_areAllThere_andNoOthers_inAnyOrder() {
        ModelMetadata model = metadata(List.of(declared("a", "FP32", -1), declared("b", "INT8", -1, 2)));
        TensorHead a = input("a", DataType.FP32, 1);
        TensorHead b = input("b", DataType.INT8, 1, 2);
        assertThat(texts(model, request(List.of(b, a)))).isEmpty();
        assertThat(texts(model, request(List.of(a))))
                .containsExactly("input 'b' of model 'm' is missing: INT8 of shape [-1,2] is expected");
        assertThat(texts(model, request(List.of(a, b, input("c", DataType.FP32, 1)))))
                .containsExactly("model 'm' has no input 'c': one of 'a', 'b' is expected");
    }

    @Test
    void missingInput_ofADatatypeThatTheProtocolDoesNotKnow_isATensor() {
        assertThat(texts(metadata(List.of(declared("x", "STRING", 1))), request(List.of())))
                .containsExactly("input 'x' of model 'm' is missing: a tensor of shape [1] is expected");
    }

    @Test
    void manyNames_areNotAllShown() {
        List<TensorMetadata> inputs = IntStream.range(0, 11)
                .mapToObj(i -> declared("x" + i, "FP32", 1))
                .toList();
        List<TensorHead> sent = Stream.concat(
                        inputs.stream().map(each -> input(each.name(), DataType.FP32, 1)),
                        Stream.of(input("y", DataType.FP32, 1)))
                .toList();
        assertThat(texts(metadata(inputs), request(sent)))
                .containsExactly("model 'm' has no input 'y': one of 'x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7',"
                        + " 'x8', 'x9', ... (11) is expected");
    }

    @Test
    void allDifferences_areFound() {
        ModelMetadata model = metadata(List.of(declared("a", "FP32", 2), declared("b", "INT8", 1)), "y");
        assertThat(ModelSignature.of(model)
                        .mismatches(
                                request(List.of(input("a", DataType.FP64, 3), input("c", DataType.FP32, 1)), "y", "z")))
                .extracting(RequestMismatch::reason)
                .containsExactly(
                        MismatchReason.UNKNOWN_OUTPUT,
                        MismatchReason.DATATYPE,
                        MismatchReason.SHAPE,
                        MismatchReason.UNKNOWN_INPUT,
                        MismatchReason.MISSING_INPUT);
    }

    @Test
    void outputs_areDeclared() {
        List<TensorMetadata> inputs = List.of(declared("x", "FP32", 1));
        List<TensorHead> sent = List.of(input("x", DataType.FP32, 1));
        assertThat(texts(metadata(inputs, "y"), request(sent, "y"))).isEmpty();
        assertThat(texts(metadata(inputs, "y"), request(sent, "z")))
                .containsExactly("model 'm' has no output 'z': 'y' is expected");
        assertThat(texts(metadata(inputs), request(sent, "z"))).isEmpty();
    }

    @Test
    void modelThatDeclaresNoInputs_takesAny() {
        assertThat(texts(metadata(List.of(), "y"), request(List.of(input("any", DataType.BF16, 3)), "y")))
                .isEmpty();
    }

    @Test
    void whatIsDecodedFirst_isNotCompared() {
        ModelMetadata model = metadata(List.of(declared("x", "FP32", 2), declared("y", "FP32", 2)));
        TensorHead y = input("y", DataType.FP32, 2);
        TensorHead encoded = new Head("x", DataType.BYTES, Shape.of(1), DECODED);
        assertThat(texts(model, request(List.of(encoded, y)))).isEmpty();
        assertThat(texts(model, request(List.of(encoded)))).hasSize(1);
        assertThat(texts(metadata(List.of(declared("x", "FP32", 2)), "y"), request(List.of(encoded), "z")))
                .containsExactly("model 'm' has no output 'z': 'y' is expected");
        assertThat(texts(model, new RequestOutline(DECODED, List.of(encoded), List.of())))
                .isEmpty();
        TensorMetadata decoding = new TensorMetadata("x", "FP32", Shape.of(2), DECODED);
        assertThat(texts(metadata(List.of(decoding)), request(List.of(input("x", DataType.BYTES, 1)))))
                .isEmpty();
    }

    @Test
    void severalServers_oneThatTakesItIsEnough() {
        ModelSignature floats = ModelSignature.of(metadata(List.of(declared("x", "FP32", 1))));
        ModelSignature integers = ModelSignature.of(metadata(List.of(declared("x", "INT64", 1))));
        DeclaredSignatures both = new DeclaredSignatures(List.of(floats, integers), true);
        assertThat(both.mismatches(request(List.of(input("x", DataType.INT64, 1)))))
                .isEmpty();
        assertThat(both.mismatches(request(List.of(input("x", DataType.FP64, 1)))))
                .containsExactly(new RequestMismatch(MismatchReason.DATATYPE, "x", "FP32", "FP64"));
    }
}

package dev.isthmus.gateway.openapi;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ExampleRequestTest {

    static ModelMetadata model(TensorMetadata... inputs) {
        return new ModelMetadata("m", List.of(), "", List.of(inputs), List.of(), Map.of());
    }

    static TensorMetadata tensor(String name, String type, long... shape) {
        return new TensorMetadata(name, type, Shape.of(shape), Map.of());
    }

    private static String example(ModelMetadata model) {
        return ExampleRequest.of(model, 10).document().map(ObjectNode::toString).orElse("none");
    }

    @ParameterizedTest
    @EnumSource
    void zerosOfEachType(DataType type) {
        String zero = switch (type) {
            case BOOL -> "false";
            case BYTES -> "\"0\"";
            case FP16, BF16, FP32, FP64 -> "0.0";
            case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64 -> "0";
        };
        assertThat(example(model(tensor("x", type.name(), 2))))
                .isEqualTo("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + type + "\",\"shape\":[2],\"data\":[" + zero
                        + "," + zero + "]}]}");
    }

    @Test
    void dimensionsOfVariableSize_areOne() {
        assertThat(example(model(tensor("x", "INT8", -1, 2, -1)))).contains("\"shape\":[1,2,1],\"data\":[0,0]");
    }

    @Test
    void scalar_hasOneElement() {
        assertThat(example(model(tensor("x", "INT8")))).contains("\"shape\":[],\"data\":[0]");
    }

    @Test
    void dimensionWithoutExtent_hasNoElements() {
        assertThat(example(model(tensor("x", "INT8", 0, Long.MAX_VALUE)))).contains("\"data\":[]");
    }

    @Test
    void elementsOfAllInputs_areLimited() {
        assertThat(example(model(tensor("x", "INT8", 4), tensor("y", "INT8", 6))))
                .contains("\"y\"");
        ExampleRequest none = ExampleRequest.of(model(tensor("x", "INT8", 4), tensor("y", "INT8", 7)), 10);
        assertThat(none.document()).isEmpty();
        assertThat(none.obstacle()).isEqualTo("the inputs have more than 10 elements");
    }

    @Test
    void productBeyondALong_isTooMany() {
        assertThat(ExampleRequest.of(model(tensor("x", "INT8", Long.MAX_VALUE, 3)), 10)
                        .obstacle())
                .isEqualTo("the inputs have more than 10 elements");
    }

    @Test
    void withoutInputs_isNone() {
        assertThat(ExampleRequest.of(model(), 10).obstacle()).isEqualTo("the model's metadata name no inputs");
    }

    @Test
    void unknownDatatype_isNone() {
        assertThat(ExampleRequest.of(model(tensor("x", "FP8", 1)), 10).obstacle())
                .isEqualTo("input 'x' has the unknown datatype FP8");
    }
}

package dev.isthmus.local.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DeclarationTest {
    private static final List<TensorMetadata> MODEL = List.of(tensor("image", "FP32", -1, 64));

    private static TensorMetadata tensor(String name, String type, long... shape) {
        return new TensorMetadata(name, type, Shape.of(shape), Map.of());
    }

    private static void require(TensorMetadata declared) {
        Declaration.require(declared(declared), MODEL, List.of());
    }

    private static ModelSettings declared(TensorMetadata... inputs) {
        ModelSettings all = ModelSettings.DEFAULT;
        return new ModelSettings(
                all.versions(),
                all.maxBatchSize(),
                all.maxQueueDelay(),
                all.instances(),
                all.device(),
                all.intraOpThreads(),
                all.translator(),
                Stream.of(inputs).map(input -> new TensorConfig(input, null)).toList(),
                List.of(),
                true,
                Map.of());
    }

    @Test
    void nothingDeclared_fitsEveryModel() {
        Declaration.require(declared(), MODEL, MODEL);
        assertThat(declared().inputs()).isEmpty();
    }

    @Test
    void extentThatTheModelLeavesOpen_mayBeDeclared() {
        require(tensor("image", "FP32", 8, 64));
        require(tensor("image", "FP32", -1, 64));
    }

    @Test
    void otherShape_isRefused() {
        assertThatThrownBy(() -> require(tensor("image", "FP32", -1, 65)))
                .hasMessage("configuration: input 'image': shape [-1,65], but the model has [-1,64]");
        assertThatThrownBy(() -> require(tensor("image", "FP32", 64)))
                .hasMessage("configuration: input 'image': shape [64], but the model has [-1,64]");
    }

    @Test
    void otherDatatype_isRefused() {
        assertThatThrownBy(() -> require(tensor("image", "FP64", -1, 64)))
                .hasMessage("configuration: input 'image': datatype FP64, but the model has FP32")
                .extracting("code")
                .isEqualTo(ErrorCode.FAILED_PRECONDITION);
    }

    @Test
    void unknownName_isRefused() {
        assertThatThrownBy(() -> require(tensor("picture", "FP32", -1, 64)))
                .hasMessage("configuration: input 'picture': the model has none of this name, but [image]");
    }
}

package dev.isthmus.local.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TranslatorSourceTest {
    private static final List<Path> JARS = List.of(Path.of("/models/m/1/a.jar"), Path.of("/models/m/1/b.jar"));
    private static final List<TensorMetadata> TEXT = declared("BYTES");

    private static List<TensorMetadata> declared(String type) {
        return List.of(new TensorMetadata("text", type, Shape.of(-1), Map.of()));
    }

    private static TranslatorSource source(List<Path> jars, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
        return new TranslatorSource(ModelRef.of("m"), "Moody", jars, inputs, outputs, List.of("image"));
    }

    @Test
    void folder_isThatOfTheJars() {
        assertThat(source(JARS, TEXT, TEXT).folder()).isEqualTo(Path.of("/models/m/1"));
    }

    @Test
    void jar_thatIsMissing_isRefused() {
        assertThatThrownBy(() -> source(List.of(), TEXT, TEXT))
                .hasMessage("its translator Moody needs a jar in the folder of the version");
    }

    @Test
    void declaration_thatIsMissing_isRefused() {
        assertThatThrownBy(() -> source(JARS, TEXT, List.of()))
                .hasMessage("a model with a translator declares its inputs and outputs in config.pbtxt");
    }

    @Test
    void datatype_thatIsNone_isRefused() {
        assertThatThrownBy(() -> source(JARS, declared("TEXT"), TEXT))
                .hasMessage("tensor 'text' is declared as TEXT, which is not a datatype of the protocol");
    }
}

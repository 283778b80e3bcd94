package dev.isthmus.local.translate;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A model with a translator, not yet loaded.
 *
 * @param translator the class of a Translator or TranslatorFactory; null for the only one in the jars'
 *     META-INF/services
 * @param jars the jars of the model's version; the translator finds further files in their folder
 * @param inputs the declared inputs of requests; the translator makes the model's own inputs from them
 * @param outputs the declared outputs of responses
 * @param modelInputs the names of the model's own inputs, in its order
 */
public record TranslatorSource(
        ModelRef model,
        @Nullable String translator,
        List<Path> jars,
        List<TensorMetadata> inputs,
        List<TensorMetadata> outputs,
        List<String> modelInputs) {

    public TranslatorSource {
        jars = List.copyOf(jars);
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        modelInputs = List.copyOf(modelInputs);
        if (jars.isEmpty()) {
            throw refusal("its translator " + translator + " needs a jar in the folder of the version");
        }
        if (inputs.isEmpty() || outputs.isEmpty()) {
            throw refusal("a model with a translator declares its inputs and outputs in config.pbtxt");
        }
        inputs.forEach(TranslatorSource::requireKnown);
        outputs.forEach(TranslatorSource::requireKnown);
    }

    Path folder() {
        return Objects.requireNonNull(jars.getFirst().toAbsolutePath().getParent(), "a jar has a parent folder");
    }

    private static void requireKnown(TensorMetadata tensor) {
        if (DataType.byName(tensor.dataType()).isEmpty()) {
            throw refusal("tensor '" + tensor.name() + "' is declared as " + tensor.dataType()
                    + ", which is not a datatype of the protocol");
        }
    }

    private static OipException refusal(String message) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, message);
    }
}

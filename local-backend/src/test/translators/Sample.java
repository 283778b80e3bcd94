import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.Arrays;

/** Makes one sample, as translators with DJL's default batchifier do, and reads a file beside the model. */
public final class Sample implements Translator<Input, Output> {
    private String greeting;

    @Override
    public void prepare(TranslatorContext context) throws Exception {
        greeting = context.getModel().getArtifact("greeting.txt", stream -> {
            try {
                return new String(stream.readAllBytes());
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        });
    }

    @Override
    public NDList processInput(TranslatorContext context, Input input) {
        NDArray image = context.getNDManager().create(new float[64]).reshape(8, -1).flatten();
        image.setName("image");
        return new NDList(image);
    }

    @Override
    public Output processOutput(TranslatorContext context, NDList outputs) {
        Output output = new Output();
        output.add("answer", greeting + Arrays.toString(outputs.get("label").getShape().getShape())
                + Arrays.toString(outputs.get("probabilities").getShape().getShape()));
        return output;
    }
}

import ai.djl.ndarray.NDList;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;

/** Takes text, not inputs: none that can be used here. */
public final class Words implements Translator<String, String> {
    @Override
    public NDList processInput(TranslatorContext context, String text) {
        return new NDList();
    }

    @Override
    public String processOutput(TranslatorContext context, NDList outputs) {
        return "";
    }
}

import ai.djl.ndarray.NDList;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;

/** Accepts text instead of {@code Input}, which is not supported. */
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

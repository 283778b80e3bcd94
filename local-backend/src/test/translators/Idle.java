import ai.djl.Model;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorFactory;
import ai.djl.util.Pair;
import java.lang.reflect.Type;
import java.util.Map;
import java.util.Set;

/** A factory that creates no translator. */
public final class Idle implements TranslatorFactory {
    @Override
    public Set<Pair<Type, Type>> getSupportedTypes() {
        return Set.of();
    }

    @Override
    public <I, O> Translator<I, O> newInstance(Class<I> input, Class<O> output, Model model, Map<String, ?> arguments) {
        throw new UnsupportedOperationException("a secret");
    }
}

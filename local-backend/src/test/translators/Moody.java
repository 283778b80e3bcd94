import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.ndarray.BytesSupplier;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.Batchifier;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.Map;

/** Behaves, or misbehaves, as the text says. */
public final class Moody implements Translator<Input, Output> {
    @Override
    public Batchifier getBatchifier() {
        return null;
    }

    @Override
    public NDList processInput(TranslatorContext context, Input input) throws Exception {
        String mood = input.getAsString("text");
        context.setAttachment("mood", mood);
        NDManager arrays = context.getNDManager();
        switch (mood) {
            case "refuse":
                throw new TranslateException("I do not like it");
            case "no number":
                Integer.parseInt("x");
                break;
            case "fail":
                throw new IllegalStateException("a secret");
            case "overflow":
                return processInput(context, input);
            case "null":
                return null;
            case "interrupted":
                throw new InterruptedException();
            case "nothing":
                return new NDList();
            case "two":
                return new NDList(image(arrays, 64), image(arrays, 64));
            case "short":
                return new NDList(image(arrays, 63));
            default:
        }
        NDArray image = image(arrays, 64);
        if (!mood.equals("unnamed")) {
            image.setName("image");
        }
        return new NDList(image);
    }

    private static NDArray image(NDManager arrays, int pixels) {
        return arrays.zeros(new Shape(1, pixels));
    }

    @Override
    public Output processOutput(TranslatorContext context, NDList outputs) {
        Output output = new Output();
        NDManager arrays = context.getNDManager();
        switch ((String) context.getAttachment("mood")) {
            case "fail later":
                throw new IllegalArgumentException("a secret");
            case "404":
                return new Output(404, "no such digit");
            case "503":
                return new Output(503, "not today");
            case "json":
                output.add("answer", BytesSupplier.wrapAsJson(Map.of("label", outputs.get("label").toLongArray()[0])));
                break;
            case "unknown":
                output.add("question", "?");
                break;
            case "number":
                output.add("answer", arrays.create(new float[] {1}));
                break;
            case "square":
                output.add("answer", arrays.create(new String[] {"a"}, new Shape(1, 1)));
                break;
            case "closed":
                NDArray closed = arrays.create(new String[] {"a"});
                closed.close();
                output.add("answer", closed);
                break;
            case "absent":
                break;
            case "parameter":
                output.add("answer", context.getModel().getName());
                break;
            default:
                output.add("\u00e9 " + outputs.size());
        }
        return output;
    }
}

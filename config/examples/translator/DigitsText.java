import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.translate.Batchifier;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;

/**
 * Text in, words out: each element of "text" is a handwritten digit of 8 x 8 pixels, 64 numbers from 0 to 16 with commas
 * between them; the answer is the digit as a word, and how sure the model is of it.
 */
public final class DigitsText implements Translator<Input, Output> {
    private static final int PIXELS = 64;
    private static final String[] WORDS = {
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"
    };

    /** None: the tensors made here have the model's shape, with the batch in front. */
    @Override
    public Batchifier getBatchifier() {
        return null;
    }

    @Override
    public NDList processInput(TranslatorContext context, Input input) throws TranslateException {
        NDManager arrays = context.getNDManager();
        String[] texts = input.getAsNDArray(arrays, "text").toStringArray();
        float[] pixels = new float[texts.length * PIXELS];
        for (int i = 0; i < texts.length; i++) {
            String[] numbers = texts[i].split(",");
            if (numbers.length != PIXELS) {
                // What is thrown here as TranslateException or IllegalArgumentException is the client's to read.
                throw new TranslateException("text " + i + ": 64 numbers are expected, got " + numbers.length);
            }
            for (int j = 0; j < PIXELS; j++) {
                pixels[i * PIXELS + j] = Float.parseFloat(numbers[j].strip()) / 16;
            }
        }
        NDArray image = arrays.create(pixels, new Shape(texts.length, PIXELS));
        image.setName("image");
        return new NDList(image);
    }

    @Override
    public Output processOutput(TranslatorContext context, NDList outputs) {
        NDManager arrays = context.getNDManager();
        long[] labels = outputs.get("label").toLongArray();
        float[] probabilities = outputs.get("probabilities").toFloatArray();
        String[] words = new String[labels.length];
        float[] confidences = new float[labels.length];
        for (int i = 0; i < labels.length; i++) {
            int label = Math.toIntExact(labels[i]);
            words[i] = WORDS[label];
            confidences[i] = probabilities[i * WORDS.length + label];
        }
        Output output = new Output();
        output.add("digit", arrays.create(words));
        output.add("confidence", arrays.create(confidences));
        return output;
    }
}

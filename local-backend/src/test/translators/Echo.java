import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.translate.Batchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;

/** Returns its inputs and outputs unchanged, and checks that the previous context was closed. */
public final class Echo implements Translator<Input, Output> {
    private NDManager before;

    @Override
    public Batchifier getBatchifier() {
        return null;
    }

    @Override
    public NDList processInput(TranslatorContext context, Input input) {
        if (before != null && before.isOpen()) {
            throw new IllegalStateException("the context of the request before is open");
        }
        before = context.getNDManager();
        NDList list = new NDList();
        for (int i = 0; i < input.getContent().size(); i++) {
            list.add(input.getAsNDArray(context.getNDManager(), i));
        }
        return list;
    }

    @Override
    public Output processOutput(TranslatorContext context, NDList outputs) {
        Output output = new Output();
        for (NDArray array : outputs) {
            output.add(array.getName(), array);
        }
        return output;
    }
}

package dev.isthmus.local.translate;

import ai.djl.BaseModel;
import ai.djl.Device;
import ai.djl.inference.Predictor.PredictorContext;
import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.ndarray.BytesSupplier;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import ai.djl.util.Pair;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufAllocator;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/**
 * A model's translator: converts a request's inputs to the model's, and the model's outputs to the response. Its
 * failures fail only the request. One translator serves all threads, as in DJL; it keeps the state of a request in its
 * context.
 */
public final class Translation implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Translation.class);
    private static final Marker REPEATS = MarkerFactory.getMarker("repeats");

    /** Runs the translated model. */
    @FunctionalInterface
    public interface Inner {
        /**
         * Runs the model; returns all outputs, owned by the caller.
         *
         * @param request borrowed; not yet checked against the model
         * @throws OipException INVALID_ARGUMENT if it does not match the model, or the failure of the run
         */
        List<Tensor> run(InferRequest request);
    }

    private final TranslatorSource source;
    private final TranslatorJar jar;
    private final TranslatedModel model;
    private final Translator<Input, Output> translator;

    private Translation(
            TranslatorSource source, TranslatorJar jar, TranslatedModel model, Translator<Input, Output> translator) {
        this.source = source;
        this.jar = jar;
        this.model = model;
        this.translator = translator;
    }

    /**
     * Loads a translator. ONNX Runtime must have been started.
     *
     * @throws OipException FAILED_PRECONDITION if that fails
     */
    public static Translation load(TranslatorSource source) {
        TranslatorJar jar = new TranslatorJar(source.jars());
        ArrayManager arrays = new ArrayManager(NDManager.newBaseManager(Device.cpu(), "OnnxRuntime"));
        TranslatedModel model = new TranslatedModel(source.model().name(), source.folder(), arrays);
        try {
            return jar.withContextClassLoader(() -> {
                Translation translation =
                        new Translation(source, jar, model, jar.translator(source.translator(), model));
                translation.prepare();
                return translation;
            });
        } catch (RuntimeException e) {
            close(model, jar);
            throw e;
        }
    }

    private void prepare() {
        try (PredictorContext context = new PredictorContext(model, model.getNDManager(), null)) {
            translator.prepare(context);
        } catch (Throwable fault) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "its translator failed in prepare: " + fault.getClass().getSimpleName(),
                    fault);
        }
    }

    /** The translator's class name. */
    public String name() {
        return translator.getClass().getName();
    }

    /**
     * Runs a model with its translator on the calling thread. If the translator returns no inputs, the model is not
     * run, as with DJL's own predictors.
     *
     * @param request borrowed; matches the declared inputs and outputs
     * @return the requested outputs, owned by the caller
     * @throws OipException INVALID_ARGUMENT with the translator's message if it rejects the request, INTERNAL if it
     *     fails
     */
    public List<Tensor> run(InferRequest request, Inner inner, ByteBufAllocator allocator) {
        return jar.withContextClassLoader(() -> {
            try (PredictorContext context = new PredictorContext(model, model.getNDManager(), null);
                    TranslatedTensors response = new TranslatedTensors(allocator)) {
                NDList inputs = inputs(context, request);
                NDList outputs = inputs.isEmpty() ? inputs : outputs(context, inputs, inner, allocator);
                response(output(context, outputs), request, response);
                return response.take();
            }
        });
    }

    private NDList inputs(TranslatorContext context, InferRequest request) {
        ArrayManager arrays = (ArrayManager) context.getNDManager();
        Input input = new Input();
        request.parameters().forEach((name, value) -> input.addProperty(name, value.text()));
        request.inputs().forEach(tensor -> input.add(tensor.name(), arrays.array(tensor)));
        try {
            return requireResult(translator.processInput(context, input));
        } catch (TranslateException | IllegalArgumentException refused) {
            String reason = refused.getMessage() == null ? "its translator rejected the request" : refused.getMessage();
            throw new OipException(ErrorCode.INVALID_ARGUMENT, prefix() + reason, refused);
        } catch (Throwable fault) {
            throw failed("processInput", fault);
        }
    }

    private NDList outputs(TranslatorContext context, NDList inputs, Inner inner, ByteBufAllocator allocator) {
        List<Tensor> given = run(inputs, inner, allocator);
        try {
            ArrayManager arrays = (ArrayManager) context.getNDManager();
            NDList outputs = new NDList();
            given.forEach(tensor -> outputs.add(unbatched(arrays.array(tensor))));
            return outputs;
        } finally {
            given.forEach(Tensor::release);
        }
    }

    private List<Tensor> run(NDList inputs, Inner inner, ByteBufAllocator allocator) {
        try (TranslatedTensors tensors = new TranslatedTensors(allocator)) {
            feed(inputs, tensors);
            return inner.run(new InferRequest(source.model(), "", Map.of(), tensors.tensors(), List.of()));
        } catch (OipException failure) {
            throw failure.code() == ErrorCode.INVALID_ARGUMENT ? failed("the model's inputs", failure) : failure;
        }
    }

    private void feed(NDList inputs, TranslatedTensors to) {
        try {
            for (int i = 0; i < inputs.size(); i++) {
                NDArray array = inputs.get(i);
                to.add(nameOf(inputs, i), array, batched(ArrayTypes.oip(array.getShape())));
            }
        } catch (Throwable wrong) {
            throw failed("the model's inputs", wrong);
        }
    }

    private String nameOf(NDList inputs, int i) {
        String name = inputs.get(i).getName();
        if (name != null) {
            return name;
        }
        if (i >= source.modelInputs().size()) {
            throw new IllegalArgumentException("the model's inputs are " + source.modelInputs());
        }
        return source.modelInputs().get(i);
    }

    private Output output(TranslatorContext context, NDList outputs) {
        Output output;
        try {
            output = requireResult(translator.processOutput(context, outputs));
        } catch (Throwable fault) {
            throw failed("processOutput", fault);
        }
        if (output.getCode() >= 400) {
            ErrorCode code = output.getCode() < 500 ? ErrorCode.INVALID_ARGUMENT : ErrorCode.INTERNAL;
            throw new OipException(code, prefix() + output.getMessage());
        }
        return output;
    }

    private void response(Output output, InferRequest request, TranslatedTensors to) {
        try {
            new TranslatedResponse(source.outputs()).add(output, request, to);
        } catch (Throwable wrong) {
            throw failed("the response", wrong);
        }
    }

    private static <T> T requireResult(@Nullable T made) {
        if (made == null) {
            throw new IllegalStateException("the translator returned null");
        }
        return made;
    }

    /** A translator with a batchifier returns one sample, while the model expects a batch, which is of one here. */
    private Shape batched(Shape shape) {
        if (translator.getBatchifier() == null) {
            return shape;
        }
        List<Long> extents = new ArrayList<>(shape.toList());
        extents.addFirst(1L);
        return Shape.of(extents);
    }

    private NDArray unbatched(NDArray array) {
        if (translator.getBatchifier() == null) {
            return array;
        }
        if (array.getShape().isScalar() || array.getShape().get(0) != 1) {
            throw failed(
                    "output '" + array.getName() + "' of shape " + array.getShape()
                            + " is not a batch of 1: its getBatchifier must return null",
                    null);
        }
        NDArray sample = array.squeeze(0);
        sample.setName(array.getName());
        return sample;
    }

    private OipException failed(String where, @Nullable Throwable fault) {
        LOG.atError()
                .addMarker(REPEATS)
                .addKeyValue("model", source.model().name())
                .setCause(fault)
                .log("the translator of model {} failed; correct it: {}", source.model(), where);
        if (fault instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        return new OipException(ErrorCode.INTERNAL, prefix() + "its translator failed", fault);
    }

    private String prefix() {
        return "model '" + source.model().name() + "': ";
    }

    /** Closes the translator; it must not be in use. */
    @Override
    public void close() {
        close(model, jar);
    }

    private static void close(TranslatedModel model, TranslatorJar jar) {
        NDManager parent = model.getNDManager().getParentManager();
        model.close();
        parent.close();
        try {
            jar.close();
        } catch (UncheckedIOException e) {
            LOG.warn("the jars of model {} could not be closed: {}", model.getName(), e.toString());
        }
    }

    /**
     * A model as its translator sees it: a name, arrays, and the files beside it. It has no block, because it is run
     * elsewhere.
     */
    private static final class TranslatedModel extends BaseModel {

        /**
         * The model in a folder.
         *
         * @param arrays taken; closed with the model
         */
        TranslatedModel(String name, Path folder, ArrayManager arrays) {
            super(name);
            manager = arrays;
            modelDir = folder;
            dataType = DataType.FLOAT32;
        }

        @Override
        public void load(Path path, @Nullable String prefix, @Nullable Map<String, ?> options) {
            throw new UnsupportedOperationException("the model is loaded already");
        }
    }

    /** Selects the declared and requested outputs from a translator's {@link Output}. */
    private static final class TranslatedResponse {
        private final Map<String, TensorMetadata> declared = new LinkedHashMap<>();

        TranslatedResponse(List<TensorMetadata> declared) {
            declared.forEach(tensor -> this.declared.put(tensor.name(), tensor));
        }

        /**
         * Adds the requested outputs, in the request's order.
         *
         * @throws IllegalArgumentException if one is missing or does not match its declaration
         */
        void add(Output output, InferRequest request, TranslatedTensors to) {
            Map<String, BytesSupplier> given = given(output);
            List<String> wanted = request.outputs().isEmpty()
                    ? List.copyOf(declared.keySet())
                    : request.outputs().stream().map(RequestedOutput::name).toList();
            for (String name : wanted) {
                BytesSupplier value = given.get(name);
                TensorMetadata tensor = declared.get(name);
                if (value == null || tensor == null) {
                    throw new IllegalArgumentException("it has no '" + name + "', only " + given.keySet());
                }
                add(tensor, value, to);
            }
        }

        /** The outputs by name; one without a name gets that of the declared output at its index. */
        private Map<String, BytesSupplier> given(Output output) {
            List<String> names = List.copyOf(declared.keySet());
            Map<String, BytesSupplier> given = new LinkedHashMap<>();
            for (Pair<String, BytesSupplier> item : output.getContent()) {
                String name = item.getKey();
                if (name == null && given.size() < names.size()) {
                    name = names.get(given.size());
                }
                if (name == null || !declared.containsKey(name)) {
                    throw new IllegalArgumentException(
                            "'" + name + "' is not one of the outputs in config.pbtxt, " + names);
                }
                given.put(name, item.getValue());
            }
            return given;
        }

        private static void add(TensorMetadata tensor, BytesSupplier value, TranslatedTensors to) {
            if (value instanceof NDArray array) {
                Shape shape = ArrayTypes.oip(array.getShape());
                String type =
                        ArrayTypes.oip(array.getDataType()).map(Enum::name).orElse(array.getDataType() + "");
                if (!type.equals(tensor.dataType()) || !tensor.shape().accepts(shape)) {
                    throw new IllegalArgumentException("'" + tensor.name() + "' is " + type + " " + shape + ", but "
                            + tensor.dataType() + " " + tensor.shape() + " is declared");
                }
                to.add(tensor.name(), array, shape);
            } else if (tensor.dataType().equals("BYTES")) {
                to.add(tensor.name(), value, tensor.shape().rank());
            } else {
                throw new IllegalArgumentException(
                        "'" + tensor.name() + "' is not an NDArray, but " + tensor.dataType() + " is declared");
            }
        }
    }
}

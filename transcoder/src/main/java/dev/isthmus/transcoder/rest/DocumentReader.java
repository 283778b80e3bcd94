package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the JSON document of an inference request or response. Owns its tensors until {@link #takeTensors()}. */
final class DocumentReader extends ObjectReader {
    /** Most messages have as many tensors, or fewer. */
    private static final int FEW = 2;

    private final List<TensorBuilder> tensors = new ArrayList<>(FEW);
    private String id = "";
    private String modelName = "";
    private String modelVersion = "";
    /** Null until a request names outputs. */
    private @Nullable RequestedOutputs outputs;

    private boolean binaryByDefault;

    DocumentReader(ReaderState state) {
        super(state);
    }

    /** The id; empty if it is absent. */
    String id() {
        return id;
    }

    /** The model that a response names. */
    ModelRef model() {
        return new ModelRef(modelName, modelVersion);
    }

    /** The tensors read so far. */
    List<TensorBuilder> tensors() {
        return tensors;
    }

    /** The bytes of binary data announced by the tensors. */
    long binarySize() {
        long bytes = 0;
        for (TensorBuilder builder : tensors) {
            bytes += builder.binarySize();
        }
        return bytes;
    }

    /**
     * The memory held, in bytes.
     *
     * @param window as in {@link ReaderState#held}
     */
    long held(int window) {
        if (!tensors.isEmpty()) {
            // The other tensors are unchanged since they were last counted.
            tensors.getLast().updateHeld();
        }
        return state.held(window);
    }

    List<RequestedOutput> outputs() {
        return outputs == null ? List.of() : outputs.list();
    }

    /** The names of the inputs, which are distinct, received as JSON that every server interprets alike. */
    Set<String> plainInputs() {
        return names(TensorBuilder::plainJson);
    }

    boolean contestedJson() {
        boolean any = false;
        for (TensorBuilder tensor : tensors) {
            any |= tensor.contestedJson();
        }
        return any;
    }

    /** The names of the inputs decoded from base64. */
    Set<String> base64Inputs() {
        return names(TensorBuilder::base64);
    }

    private Set<String> names(Predicate<TensorBuilder> which) {
        if (tensors.size() == 1) {
            return which.test(tensors.getFirst()) ? Set.of(tensors.getFirst().name()) : Set.of();
        }
        return tensors.stream().filter(which).map(TensorBuilder::name).collect(Collectors.toUnmodifiableSet());
    }

    OutputForms forms() {
        if (outputs == null) {
            return binaryByDefault ? OutputForms.BINARY : OutputForms.JSON;
        }
        return outputs.forms(binaryByDefault);
    }

    @Override
    @Nullable
    ValueReader member(String key, int depth) {
        return switch (key) {
            case "id" -> null;
            case "model_name", "model_version" -> state.request ? skipped(depth) : null;
            case "inputs" -> state.request ? new ObjectArrayReader(key, null) : skipped(depth);
            case "outputs" -> {
                outputs = state.request ? new RequestedOutputs(state.limits) : null;
                yield new ObjectArrayReader(key, outputs);
            }
            default -> skipped(depth);
        };
    }

    @Override
    void text(String key, String given) {
        state.heap(given.length());
        switch (key) {
            case "id" -> id = given;
            case "model_name" -> modelName = given;
            default -> modelVersion = given;
        }
    }

    private TensorBuilder nextTensor(String key) {
        int limit = state.limits.tensors();
        if (tensors.size() == limit) {
            throw state.failure(key + ": at most " + limit + " are accepted");
        }
        tensors.add(new TensorBuilder(state, tensors.size()));
        return tensors.getLast();
    }

    @Override
    void end() {
        String required = state.request ? "inputs" : "outputs";
        if (!has(required)) {
            throw state.failure("'" + required + "' is missing");
        }
    }

    @Override
    boolean consumes(String parameter, Parameter given) {
        boolean form = parameter.equals("binary_data_output");
        if (form) {
            // KServe echoes it in the response.
            binaryByDefault = state.request && ParameterValue.bool(parameter, given);
        }
        // A server that accepts any parameter leaves these names to its models.
        if (state.request && !state.anyParameter) {
            ReservedParameters.require(parameter, given);
        }
        return form;
    }

    /**
     * Those of a response do not describe its data; Triton repeats some of an ensemble's. In protobuf, where they are a
     * map, the last counts, too.
     */
    @Override
    boolean lastParameterCounts() {
        return !state.request;
    }

    @Override
    String where(String what) {
        return what;
    }

    /** Whether all tensors are binary data of validated sizes that add up to {@code bytes}. */
    boolean fixedBinary(long bytes) {
        long left = bytes;
        for (TensorBuilder tensor : tensors) {
            if (!tensor.fixedBinary() || tensor.binarySize() > left) {
                return false;
            }
            left -= tensor.binarySize();
        }
        return left == 0;
    }

    /** The tensors without their data, before their binary data is received. */
    List<Tensor> heads() {
        requireDistinct();
        if (ParameterValue.base64(parameters())) {
            removeContentType();
        }
        return tensors.stream().map(TensorBuilder::head).toList();
    }

    private void requireDistinct() {
        state.check().requireDistinct(tensors, TensorBuilder::name);
        if (outputs != null) {
            outputs.requireDistinct();
        }
    }

    /** Requires that the tensors are complete whose data is only counted. */
    void requireData() {
        requireDistinct();
        tensors.forEach(TensorBuilder::requireData);
    }

    /** The tensors, complete and owned by the caller. */
    List<Tensor> takeTensors() {
        requireDistinct();
        boolean base64 = state.request && ParameterValue.base64(parameters());
        Tensor[] taken = new Tensor[tensors.size()];
        int count = 0;
        try {
            for (TensorBuilder builder : tensors) {
                taken[count] = builder.take(base64 || ParameterValue.base64(builder.parameters()));
                count++;
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            Arrays.stream(taken, 0, count).forEach(Tensor::release);
            throw e;
        }
        if (base64) {
            removeContentType();
        }
        return List.of(taken);
    }

    void release() {
        tensors.forEach(TensorBuilder::release);
        tensors.clear();
        state.clear();
    }

    /** Checks the types of the request parameters that the protocol documents define: sequence and schedule policy. */
    private static final class ReservedParameters {
        private ReservedParameters() {}

        /** @throws OipException INVALID_ARGUMENT for a reserved name with a value of another type */
        static void require(String name, Parameter value) {
            String expected = switch (name) {
                case "sequence_id" ->
                    value instanceof Parameter.Text || unsigned(value) ? "" : "an integer of 0 or more, or a string,";
                case "sequence_start", "sequence_end" -> value instanceof Parameter.Bool ? "" : "a boolean";
                case "priority", "timeout" -> unsigned(value) ? "" : "an integer of 0 or more";
                default -> "";
            };
            if (!expected.isEmpty()) {
                String shown = value instanceof Parameter.Text text ? TensorCheck.shown(text.value()) : value.text();
                throw OipException.invalid("parameter '" + name + "': " + expected + " is expected, got " + shown);
            }
        }

        private static boolean unsigned(Parameter value) {
            return value instanceof Parameter.Uint64 || (value instanceof Parameter.Int64 int64 && int64.value() >= 0);
        }
    }

    /** Reads an array of objects: tensors, or requested outputs, which may be null. */
    private final class ObjectArrayReader implements ValueReader {
        private final String name;
        private final @Nullable RequestedOutputs requested;
        private boolean opened;
        private @Nullable ObjectReader item;

        /** @param requested null for an array of tensors */
        ObjectArrayReader(String name, @Nullable RequestedOutputs requested) {
            this.name = name;
            this.requested = requested;
        }

        @Override
        public boolean read(JsonTokenizer json) {
            while (item == null || item.read(json)) {
                item = null;
                JsonToken token = json.next();
                switch (token) {
                    case NEED_MORE -> {
                        return false;
                    }
                    case START_ARRAY -> {
                        if (opened) {
                            throw unexpected("an object", token);
                        }
                        opened = true;
                    }
                    case START_OBJECT -> {
                        if (!opened) {
                            throw unexpected("an array", token);
                        }
                        item = requested == null ? nextTensor(name) : requested.next(state);
                    }
                    case END_ARRAY -> {
                        return true;
                    }
                    case NULL -> {
                        if (opened || requested == null) {
                            throw unexpected("an array of objects", token);
                        }
                        state.hasNull = true;
                        return true;
                    }
                    default -> throw unexpected("an array of objects", token);
                }
            }
            return false;
        }

        private OipException unexpected(String wanted, JsonToken token) {
            return state.failure(name + ": " + wanted + " is expected, got " + token);
        }
    }

    /** A request's {@code outputs} while they are read, one object after the other. */
    private static final class RequestedOutputs {
        private final WireLimits limits;
        private final List<RequestedOutput> complete = new ArrayList<>();
        private final Map<String, Boolean> binaryByName = new HashMap<>();
        private final Set<String> base64 = new HashSet<>();

        RequestedOutputs(WireLimits limits) {
            this.limits = limits;
        }

        ObjectReader next(ReaderState state) {
            if (complete.size() == limits.tensors()) {
                throw OipException.invalid("outputs: at most " + limits.tensors() + " are accepted");
            }
            state.heap(ReaderState.OUTPUT);
            return new OutputReader(state);
        }

        /** Reads the object of a requested output. */
        private final class OutputReader extends ObjectReader {
            private String name = "";
            private @Nullable Boolean binary;

            OutputReader(ReaderState state) {
                super(state);
            }

            @Override
            @Nullable
            ValueReader member(String key, int depth) {
                return key.equals("name") ? null : skipped(depth);
            }

            @Override
            void text(String key, String given) {
                TensorCheck.REQUESTED.requireName(given, limits);
                name = given;
            }

            @Override
            void end() {
                if (name.isEmpty()) {
                    throw OipException.invalid(where("'name' is missing"));
                }
                TensorCheck.REQUESTED.requireMemory(name, parameters(), limits);
                if (binary != null) {
                    binaryByName.put(name, binary);
                }
                if (ParameterValue.base64(parameters())) {
                    base64.add(name);
                }
                complete.add(new RequestedOutput(name, parameters()));
            }

            @Override
            boolean consumes(String parameter, Parameter given) {
                boolean form = parameter.equals("binary_data");
                if (form) {
                    binary = ParameterValue.bool(parameter, given);
                }
                return form;
            }

            @Override
            String where(String what) {
                TensorCheck check = name.isEmpty() ? TensorCheck.REQUESTED.at(complete.size()) : TensorCheck.REQUESTED;
                return check.where(name) + what;
            }
        }

        void requireDistinct() {
            TensorCheck.REQUESTED.requireDistinct(complete, RequestedOutput::name);
        }

        List<RequestedOutput> list() {
            return complete;
        }

        OutputForms forms(boolean binaryByDefault) {
            return new OutputForms(binaryByDefault, binaryByName, base64, NonFinite.TOKEN);
        }
    }
}

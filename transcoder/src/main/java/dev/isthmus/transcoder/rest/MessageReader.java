package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.TensorCheck;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.JsonTokenizer.Token;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads an inference request or answer in chunks: first its JSON, then the binary data behind it. A state says which value
 * the next token belongs to, so that reading may stop at any byte. Requests are read strictly; answers of upstreams as they
 * are known to come, with nulls for what is absent.
 */
final class MessageReader {

    private enum State {
        DOCUMENT,
        TOP,
        TEXT,
        PARAMETERS,
        PARAMETER,
        PARAMETER_VALUE,
        TENSORS,
        TENSOR,
        SHAPE,
        EXTENT,
        DATA,
        KEPT_DATA,
        OUTPUTS,
        OUTPUT,
        SKIPPED,
        END
    }

    /** What {@link State#TEXT} fills and where it goes back to. */
    private final Map<String, String> texts = new HashMap<>();

    private final boolean request;
    private final boolean anyParameter;
    private final TensorCheck check;
    private final WireLimits limits;
    private final ByteBufAllocator allocator;
    private final JsonTokenizer json;
    private final long jsonLength;

    private State state = State.DOCUMENT;
    private State afterValue = State.TOP;
    private String key = "";
    private long jsonTaken;
    private int skipDepth;
    private int keptFrom;

    private final Set<String> topKeys = new HashSet<>();
    private final Set<String> objectKeys = new HashSet<>();
    private final Set<String> parameterKeys = new HashSet<>();
    private final Map<String, Parameter> parameters = new LinkedHashMap<>();
    private final List<TensorDraft> tensors = new ArrayList<>();
    private final BinaryTail tail;
    private final RequestedOutputs outputs;
    private final List<Long> extents = new ArrayList<>();
    private Map<String, Parameter> openParameters = parameters;
    private boolean binaryByDefault;
    private @Nullable String foreignParameter;
    private State arrayState = State.TOP;
    private State skippedTo = State.TOP;
    private @Nullable DataReader data;

    /** @param anyParameter whether parameters of a kind that the protocol does not have are stepped over */
    MessageReader(
            boolean request, boolean anyParameter, long jsonLength, WireLimits limits, ByteBufAllocator allocator) {
        this.request = request;
        this.anyParameter = anyParameter;
        this.check = request ? TensorCheck.INPUT : TensorCheck.OUTPUT;
        this.jsonLength = jsonLength;
        this.limits = limits;
        this.allocator = allocator;
        this.json = new JsonTokenizer(limits);
        this.tail = new BinaryTail(check, tensors);
        this.outputs = new RequestedOutputs(limits);
    }

    String text(String name) {
        return texts.getOrDefault(name, "");
    }

    Map<String, Parameter> parameters() {
        return parameters;
    }

    List<RequestedOutput> outputs() {
        return outputs.list();
    }

    OutputForms forms() {
        return outputs.forms(binaryByDefault);
    }

    /** The names of the tensors that came as JSON which every server reads alike. */
    Set<String> plainJson() {
        return tensors.stream()
                .filter(TensorDraft::plainJson)
                .map(TensorDraft::name)
                .collect(Collectors.toSet());
    }

    /** Whether any tensor came as base64. */
    boolean base64() {
        return tensors.stream().anyMatch(TensorDraft::base64);
    }

    /** Whether any tensor came as JSON that servers differ about. */
    boolean contestedJson() {
        return tensors.stream().anyMatch(TensorDraft::contestedJson);
    }

    /** A parameter that was stepped over, or null. */
    @Nullable
    String foreignParameter() {
        return foreignParameter;
    }

    void feed(ByteBuf chunk) {
        if (jsonLength == 0) {
            throw failure("Inference-Header-Content-Length: the length of the JSON is expected, got 0");
        }
        long left = jsonLength < 0 ? Long.MAX_VALUE : jsonLength - jsonTaken;
        int textBytes = (int) Math.min(left, chunk.readableBytes());
        if (textBytes > 0) {
            jsonTaken += textBytes;
            try {
                json.feed(chunk.slice(chunk.readerIndex(), textBytes));
                keptFrom = json.position();
                if (jsonTaken == jsonLength) {
                    json.last();
                }
                run();
            } catch (JsonTokenizer.JsonException e) {
                throw new OipException(check.code(), String.valueOf(e.getMessage()));
            }
        }
        if (state == State.END) {
            tail.add(chunk, chunk.readerIndex() + textBytes);
        }
    }

    /** Ends the body. */
    List<Tensor> finish() {
        if (jsonLength > jsonTaken || jsonLength == 0) {
            throw failure(
                    "Inference-Header-Content-Length is " + jsonLength + ", but the body has " + jsonTaken + " bytes");
        }
        try {
            json.last();
            run();
        } catch (JsonTokenizer.JsonException e) {
            throw new OipException(check.code(), String.valueOf(e.getMessage()));
        }
        tail.requireComplete();
        check.requireDistinct(tensors.stream().map(TensorDraft::name).toList());
        outputs.requireDistinct();
        return take();
    }

    private List<Tensor> take() {
        List<Tensor> taken = new ArrayList<>();
        try {
            for (TensorDraft draft : tensors) {
                taken.add(draft.take(
                        ParameterValue.base64(draft.parameters()) || (request && ParameterValue.base64(parameters))));
            }
            if (request && ParameterValue.base64(parameters)) {
                parameters.remove("content_type");
            }
            return taken;
        } catch (RuntimeException e) {
            taken.forEach(Tensor::release);
            throw e;
        }
    }

    void release() {
        tensors.forEach(TensorDraft::release);
        tensors.clear();
    }

    private void run() {
        while (state != State.END) {
            if (state == State.DATA) {
                DataReader reader = data;
                if (reader != null && !reader.read(json)) {
                    return;
                }
                data = null;
                state = State.TENSOR;
                continue;
            }
            Token token = json.next();
            if (state == State.KEPT_DATA) {
                tensors.getLast().keep(json.window(), keptFrom, json.position());
                keptFrom = json.position();
            }
            if (token == Token.NEED_MORE) {
                return;
            }
            step(token);
        }
        // Something behind the document is found here.
        json.next();
    }

    private void step(Token token) {
        switch (state) {
            case DOCUMENT -> enter(token, Token.START_OBJECT, State.TOP, "the body");
            case TOP -> top(token);
            case TEXT -> text(token);
            case PARAMETERS -> parametersStart(token);
            case PARAMETER -> parameter(token);
            case PARAMETER_VALUE -> parameterValue(token);
            case TENSORS -> tensors(token);
            case TENSOR -> tensor(token);
            case SHAPE -> enter(token, Token.START_ARRAY, State.EXTENT, "shape");
            case EXTENT -> extent(token);
            case OUTPUTS -> outputs(token);
            case OUTPUT -> output(token);
            case SKIPPED, KEPT_DATA -> skipped(token);
            case DATA, END -> throw new IllegalStateException(state.toString());
        }
    }

    private void enter(Token token, Token wanted, State next, String what) {
        if (token != wanted) {
            throw failure(where(what) + ": " + (wanted == Token.START_OBJECT ? "an object" : "an array")
                    + " is expected, got " + token);
        }
        state = next;
    }

    private String where(String what) {
        return tensors.isEmpty() || afterValue != State.TENSOR
                ? what
                : check.kind() + " '" + tensors.getLast().name() + "': " + what;
    }

    private void top(Token token) {
        if (token == Token.END_OBJECT) {
            state = State.END;
            requireTop();
            return;
        }
        afterValue = State.TOP;
        key = distinct(topKeys);
        state = topValue(key);
    }

    private void requireTop() {
        if (!topKeys.contains(request ? "inputs" : "outputs")) {
            throw failure("'" + (request ? "inputs" : "outputs") + "' is missing");
        }
        if (request && tensors.isEmpty()) {
            throw failure("inputs: at least one is expected");
        }
    }

    private State topValue(String name) {
        return switch (name) {
            case "id" -> State.TEXT;
            case "parameters" -> {
                openParameters = parameters;
                yield State.PARAMETERS;
            }
            case "model_name", "model_version" -> request ? skipTo(State.TOP) : State.TEXT;
            case "inputs" -> request ? State.TENSORS : skipTo(State.TOP);
            case "outputs" -> request ? State.OUTPUTS : State.TENSORS;
            default -> skipTo(State.TOP);
        };
    }

    private String distinct(Set<String> seen) {
        String name = json.text();
        if (!seen.add(name)) {
            throw failure(where("key '" + name + "' is given twice"));
        }
        return name;
    }

    private void text(Token token) {
        if (token == Token.STRING) {
            if (afterValue == State.TOP) {
                texts.put(key, json.text());
            } else {
                tensorText(json.text());
            }
        } else if (request || token != Token.NULL) {
            throw failure(where(key) + ": a string is expected, got " + token);
        }
        state = afterValue;
    }

    private void tensorText(String value) {
        if (afterValue == State.OUTPUT) {
            outputs.name(value);
        } else if (key.equals("name")) {
            tensors.getLast().name(value);
        } else {
            tensors.getLast().dataType(value);
        }
    }

    private void parametersStart(Token token) {
        if (token == Token.NULL && !request) {
            state = afterValue;
            return;
        }
        enter(token, Token.START_OBJECT, State.PARAMETER, "parameters");
        parameterKeys.clear();
    }

    private void parameter(Token token) {
        if (token == Token.END_OBJECT) {
            state = afterValue;
            return;
        }
        key = distinct(parameterKeys);
        if (parameterKeys.size() > limits.parameters()) {
            throw failure("parameters: at most " + limits.parameters() + " are taken");
        }
        state = State.PARAMETER_VALUE;
    }

    private void parameterValue(Token token) {
        state = State.PARAMETER;
        Parameter value = ParameterValue.of(token, json);
        if (value != null) {
            keep(key, value);
        } else if (request && !anyParameter) {
            throw failure(where("parameter '" + key + "': a string, a number or a boolean is expected, got " + token));
        } else {
            foreignParameter = key;
            stepOver(token);
        }
    }

    private void stepOver(Token token) {
        if (token == Token.START_OBJECT || token == Token.START_ARRAY) {
            state = skipTo(State.PARAMETER);
            skipDepth--;
        }
    }

    /** Keeps a parameter, or consumes one of those that say how the body is made up (binary tensor data extension). */
    private void keep(String name, Parameter value) {
        if (afterValue == State.TENSOR && name.equals("binary_data_size")) {
            tensors.getLast().binarySize(value);
        } else if (afterValue == State.TOP && name.equals("binary_data_output")) {
            // KServe gives back what it was asked.
            binaryByDefault = request && ParameterValue.bool(name, value);
        } else if (request && afterValue == State.OUTPUT && name.equals("binary_data")) {
            outputs.binary(ParameterValue.bool(name, value));
        } else if (request && name.startsWith("triton_") && !name.equals("triton_enable_empty_final_response")) {
            throw failure(where("parameter '" + name + "': names that begin with triton_ are reserved"));
        } else {
            if (request && !anyParameter && afterValue == State.TOP) {
                ReservedParameters.require(name, value);
            }
            openParameters.put(name, value);
        }
    }

    private void tensors(Token token) {
        switch (token) {
            case START_ARRAY -> {
                if (arrayState == State.TENSORS) {
                    throw failure(check.kind() + "s: an object is expected, got START_ARRAY");
                }
                arrayState = State.TENSORS;
            }
            case START_OBJECT -> {
                requireInArray(check.kind() + "s", State.TENSORS);
                if (tensors.size() == limits.tensors()) {
                    throw failure(check.kind() + "s: at most " + limits.tensors() + " are taken");
                }
                tensors.add(new TensorDraft(check, limits, allocator));
                objectKeys.clear();
                state = State.TENSOR;
            }
            case END_ARRAY -> {
                arrayState = State.TOP;
                state = State.TOP;
            }
            default -> throw failure(check.kind() + "s: an array of objects is expected, got " + token);
        }
    }

    private void requireInArray(String what, State wanted) {
        if (arrayState != wanted) {
            throw failure(what + ": an array is expected, got START_OBJECT");
        }
    }

    private void tensor(Token token) {
        TensorDraft draft = tensors.getLast();
        afterValue = State.TENSOR;
        if (token == Token.END_OBJECT) {
            draft.endObject();
            state = State.TENSORS;
            return;
        }
        key = distinct(objectKeys);
        state = switch (key) {
            case "name", "datatype" -> State.TEXT;
            case "shape" -> {
                extents.clear();
                yield State.SHAPE;
            }
            case "parameters" -> {
                openParameters = draft.parameters();
                yield State.PARAMETERS;
            }
            case "data" -> openData(draft);
            default -> skipTo(State.TENSOR);
        };
    }

    private State openData(TensorDraft draft) {
        data = draft.openData(json.depth());
        if (data != null) {
            return State.DATA;
        }
        keptFrom = json.position();
        skipTo(State.TENSOR);
        return State.KEPT_DATA;
    }

    /** The value is of no interest; after it comes {@code next}. */
    private State skipTo(State next) {
        skippedTo = next;
        skipDepth = json.depth();
        return State.SKIPPED;
    }

    private void extent(Token token) {
        if (token == Token.END_ARRAY) {
            tensors.getLast()
                    .shape(Shape.of(extents.stream().mapToLong(Long::longValue).toArray()));
            state = State.TENSOR;
            return;
        }
        JsonNumbers number = new JsonNumbers();
        if (token == Token.NUMBER) {
            number.read(json.window(), json.tokenStart(), json.tokenEnd());
        }
        if (token != Token.NUMBER
                || number.token().chars().anyMatch(c -> c == '.' || c == 'e' || c == 'E')
                || !number.isInteger(true, 64)) {
            throw failure(where("shape: integers are expected, got ")
                    + (token == Token.NUMBER ? number.token() : token.toString()));
        }
        if (extents.size() == Shape.MAX_RANK) {
            throw failure(where("shape: at most " + Shape.MAX_RANK + " dimensions are taken"));
        }
        extents.add(number.integer());
    }

    private void outputs(Token token) {
        switch (token) {
            case START_ARRAY -> {
                if (arrayState == State.OUTPUTS) {
                    throw failure("outputs: an object is expected, got START_ARRAY");
                }
                arrayState = State.OUTPUTS;
            }
            case START_OBJECT -> {
                requireInArray("outputs", State.OUTPUTS);
                outputs.beginObject();
                objectKeys.clear();
                state = State.OUTPUT;
            }
            case END_ARRAY -> {
                arrayState = State.TOP;
                state = State.TOP;
            }
            default -> throw failure("outputs: an array of objects is expected, got " + token);
        }
    }

    private void output(Token token) {
        afterValue = State.OUTPUT;
        if (token == Token.END_OBJECT) {
            outputs.endObject();
            state = State.OUTPUTS;
            return;
        }
        key = distinct(objectKeys);
        state = switch (key) {
            case "name" -> State.TEXT;
            case "parameters" -> {
                openParameters = outputs.parameters();
                yield State.PARAMETERS;
            }
            default -> skipTo(State.OUTPUT);
        };
    }

    private void skipped(Token token) {
        if (token == Token.STRING || token == Token.KEY) {
            // Also what is not wanted must be JSON.
            json.utf8();
        }
        boolean opens = token == Token.START_ARRAY || token == Token.START_OBJECT;
        if (json.depth() == skipDepth && !opens) {
            state = skippedTo;
        }
    }

    private OipException failure(String message) {
        return new OipException(check.code(), message);
    }
}

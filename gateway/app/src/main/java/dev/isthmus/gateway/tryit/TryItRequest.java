package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.gateway.openapi.ExampleRequest;
import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * A request as the page's form has it.
 *
 * @param headers that the client adds, by lower-case name; with credentials, so never logged
 */
record TryItRequest(ModelRef model, RequestForm form, List<TryItInput> inputs, Map<String, String> headers) {
    private static final Pattern NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9a-z-]{1,256}");
    private static final Pattern VALUE = Pattern.compile("[\\x20-\\x7e]{0,8192}");
    private static final int MAX_HEADERS = 50;
    /** What the client itself writes. */
    private static final Set<String> OWN = Set.of(
            "accept",
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            "inference-header-content-length",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "x-request-id");

    TryItRequest {
        inputs = List.copyOf(inputs);
        headers = Map.copyOf(headers);
    }

    enum RequestForm implements Labelled {
        JSON,
        BINARY,
        GRPC
    }

    /** The example of a model, whose inputs are all of known datatypes. */
    static TryItRequest example(ModelRef model, RequestForm form, ModelMetadata metadata) {
        List<TryItInput> inputs = metadata.inputs().stream()
                .map(input -> new TryItInput(
                        input.name(), DataType.valueOf(input.dataType()), ExampleRequest.shape(input.shape()), null))
                .toList();
        return new TryItRequest(model, form, inputs, Map.of());
    }

    /** @throws OipException INVALID_ARGUMENT */
    static TryItRequest parse(String body) {
        JsonNode json;
        try {
            json = TryItInput.JSON.readTree(body);
        } catch (JsonProcessingException e) {
            throw OipException.invalid("a JSON object is expected: " + e.getOriginalMessage());
        }
        ModelRef model =
                new ModelRef(json.path("model").asText(), json.path("version").asText());
        NameGrammar.checked(model);
        List<TryItInput> inputs = new ArrayList<>();
        long zeros = 0;
        for (JsonNode input : json.path("inputs")) {
            TryItInput read = TryItInput.of(input);
            inputs.add(read);
            zeros += read.data() == null ? read.elements() : 0;
        }
        if (zeros > TryItInput.MAX_ZEROS) {
            throw OipException.invalid("the inputs have more than " + TryItInput.MAX_ZEROS
                    + " elements without data, which is the limit of this page");
        }
        return new TryItRequest(model, form(json.path("form").asText("json")), inputs, headers(json.path("headers")));
    }

    private static RequestForm form(String name) {
        for (RequestForm form : RequestForm.values()) {
            if (form.label().equals(name)) {
                return form;
            }
        }
        throw OipException.invalid("form: json, binary or grpc is expected, got '" + name + "'");
    }

    private static Map<String, String> headers(JsonNode json) {
        Map<String, String> headers = new TreeMap<>();
        json.properties().forEach(field -> {
            String name = field.getKey().strip().toLowerCase(Locale.ROOT);
            String value = field.getValue().asText().strip();
            if (!NAME.matcher(name).matches() || OWN.contains(name) || name.startsWith("grpc-")) {
                throw OipException.invalid(
                        "header '" + name + "': a name that the client does not write itself is" + " expected");
            }
            if (!VALUE.matcher(value).matches()) {
                throw OipException.invalid("header '" + name + "': a value of printable ASCII is expected");
            }
            headers.put(name, value);
        });
        if (headers.size() > MAX_HEADERS) {
            throw OipException.invalid("headers: at most " + MAX_HEADERS + " are accepted");
        }
        return headers;
    }

    ObjectNode json() {
        ObjectNode request = TryItInput.JSON.createObjectNode();
        ArrayNode all = request.putArray("inputs");
        inputs.forEach(input -> all.add(input.json()));
        return request;
    }

    /** Whether an input has half floats, for which protobuf has no typed contents, and tritonclient no JSON. */
    boolean hasHalfFloats() {
        return inputs.stream().anyMatch(input -> input.type() == DataType.FP16 || input.type() == DataType.BF16);
    }

    /**
     * The decoded request, owned by the caller.
     *
     * @throws OipException INVALID_ARGUMENT if it is not valid
     */
    RestRequest decoded() {
        byte[] text = json().toString().getBytes(StandardCharsets.UTF_8);
        return ReplayClient.decoded(model, Unpooled.wrappedBuffer(text), RestBody.ALL_JSON, WireLimits.DEFAULT);
    }
}

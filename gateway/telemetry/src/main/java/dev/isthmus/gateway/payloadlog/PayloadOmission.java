package dev.isthmus.gateway.payloadlog;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Leaves tensors and parameters out of messages. */
final class PayloadOmission {
    /** Numbers keep their digits, so that what is written reads back to the same value. */
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .enable(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
            .build();

    private final Set<String> tensors;
    private final Set<String> parameters;

    PayloadOmission(OmittedPayload omit) {
        tensors = omit.tensors();
        parameters = omit.parameters();
    }

    /** Whether any tensor of this message is left out. */
    boolean concerns(List<Tensor> all) {
        return !tensors.isEmpty() && all.stream().anyMatch(each -> tensors.contains(each.name()));
    }

    /** The request without what is left out; taken. */
    InferRequest apply(InferRequest request) {
        List<RequestedOutput> outputs = new ArrayList<>();
        for (RequestedOutput output : request.outputs()) {
            if (!tensors.contains(output.name())) {
                outputs.add(new RequestedOutput(output.name(), kept(output.parameters())));
            }
        }
        return new InferRequest(
                request.model(), request.id(), kept(request.parameters()), keptTensors(request.inputs()), outputs);
    }

    /** The response without what is left out; taken. */
    InferResponse apply(InferResponse response) {
        return new InferResponse(
                response.model(), response.id(), kept(response.parameters()), keptTensors(response.outputs()));
    }

    private List<Tensor> keptTensors(List<Tensor> all) {
        List<Tensor> kept = new ArrayList<>();
        for (Tensor tensor : all) {
            if (tensors.contains(tensor.name())) {
                tensor.release();
            } else {
                kept.add(new Tensor(
                        tensor.name(), tensor.dataType(), tensor.shape(), kept(tensor.parameters()), tensor.data()));
            }
        }
        return kept;
    }

    private Map<String, Parameter> kept(Map<String, Parameter> all) {
        if (all.isEmpty()) {
            return all;
        }
        Map<String, Parameter> kept = new LinkedHashMap<>();
        all.forEach((name, value) -> {
            if (!parameters.contains(name)) {
                kept.put(name, value instanceof Parameter.Json json ? new Parameter.Json(kept(json.text())) : value);
            }
        });
        return kept;
    }

    /** The value on one line, without the members that are left out; non-finite numbers become strings. */
    private String kept(String json) {
        try {
            JsonNode value = JSON.readTree(json);
            remove(value);
            return JSON.writeValueAsString(value);
        } catch (JsonProcessingException never) {
            return "null";
        }
    }

    private void remove(JsonNode value) {
        if (value instanceof ObjectNode object) {
            object.remove(parameters);
        }
        value.forEach(this::remove);
    }
}

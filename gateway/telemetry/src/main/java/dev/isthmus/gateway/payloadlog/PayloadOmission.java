package dev.isthmus.gateway.payloadlog;

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
    private final Set<String> tensors;
    private final Set<String> parameters;
    private final DocumentFilter documents;

    PayloadOmission(OmittedPayload omit, DocumentFilter documents) {
        tensors = omit.tensors();
        parameters = omit.parameters();
        this.documents = documents;
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
                kept.put(
                        name,
                        value instanceof Parameter.Json json
                                ? new Parameter.Json(documents.parameter(json.text()))
                                : value);
            }
        });
        return kept;
    }
}

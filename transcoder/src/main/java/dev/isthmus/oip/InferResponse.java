package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * The decoded response to an {@link InferRequest}. Owns its tensors; call {@link #release()} exactly once.
 *
 * @param model the model that produced the response; its version is empty if the server has none
 * @param id the request's id; empty if it had none
 */
public record InferResponse(ModelRef model, String id, Map<String, Parameter> parameters, List<Tensor> outputs) {

    public InferResponse {
        parameters = Parameter.copyOf(parameters);
        outputs = List.copyOf(outputs);
    }

    public InferResponse withId(String other) {
        return new InferResponse(model, other, parameters, outputs);
    }

    /** A copy with another model name; it shares the tensors. */
    public InferResponse withModelName(String name) {
        return new InferResponse(new ModelRef(name, model.version()), id, parameters, outputs);
    }

    public void release() {
        outputs.forEach(Tensor::release);
    }

    /** A copy that shares the tensors' memory and must be released separately. */
    public InferResponse retained() {
        return new InferResponse(
                model, id, parameters, outputs.stream().map(Tensor::retained).toList());
    }
}

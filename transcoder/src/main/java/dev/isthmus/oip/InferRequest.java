package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * A decoded inference request. Owns its tensors; call {@link #release()} exactly once.
 *
 * @param id empty if the client sent none
 * @param outputs the requested outputs; empty for all outputs of the model
 */
public record InferRequest(
        ModelRef model,
        String id,
        Map<String, Parameter> parameters,
        List<Tensor> inputs,
        List<RequestedOutput> outputs) {

    public InferRequest {
        parameters = Parameter.copyOf(parameters);
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
    }

    public InferRequest withModel(ModelRef other) {
        return new InferRequest(other, id, parameters, inputs, outputs);
    }

    public void release() {
        inputs.forEach(Tensor::release);
    }

    /** A copy that shares the tensors' memory and must be released separately. */
    public InferRequest retained() {
        return new InferRequest(
                model, id, parameters, inputs.stream().map(Tensor::retained).toList(), outputs);
    }
}

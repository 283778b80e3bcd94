package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * An inference request, decoded. It owns its tensors: {@link #release()} once, when nobody reads them any more.
 *
 * @param id empty when the client gave none
 * @param outputs empty for all outputs of the model
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

    /** The same once more, with tensors that are released by themselves. */
    public InferRequest retained() {
        return new InferRequest(
                model, id, parameters, inputs.stream().map(Tensor::retained).toList(), outputs);
    }
}

package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * The answer to an {@link InferRequest}, decoded. It owns its tensors: {@link #release()} once.
 *
 * @param model the model that answered; an empty version where the server has none
 * @param id the request's, empty when it had none
 */
public record InferResponse(ModelRef model, String id, Map<String, Parameter> parameters, List<Tensor> outputs) {

    public InferResponse {
        parameters = Parameter.copyOf(parameters);
        outputs = List.copyOf(outputs);
    }

    public InferResponse withId(String other) {
        return new InferResponse(model, other, parameters, outputs);
    }

    /** The same of a model of another name. */
    public InferResponse withModelName(String name) {
        return new InferResponse(new ModelRef(name, model.version()), id, parameters, outputs);
    }

    public void release() {
        outputs.forEach(Tensor::release);
    }

    /** The same once more, with tensors that are released by themselves. */
    public InferResponse retained() {
        return new InferResponse(
                model, id, parameters, outputs.stream().map(Tensor::retained).toList());
    }
}

package dev.isthmus.oip;

import java.util.List;
import java.util.Map;

/**
 * An inference request without the elements of its tensors. It shares the lists of what it was made from, and is valid as
 * long as that is.
 *
 * @param inputs with distinct names
 * @param outputs the requested outputs; empty for all outputs of the model
 */
public record RequestOutline(
        Map<String, Parameter> parameters, List<? extends TensorHead> inputs, List<RequestedOutput> outputs) {

    /** That of a decoded request, whose tensors may be empty. */
    public static RequestOutline of(InferRequest request) {
        return new RequestOutline(request.parameters(), request.inputs(), request.outputs());
    }
}

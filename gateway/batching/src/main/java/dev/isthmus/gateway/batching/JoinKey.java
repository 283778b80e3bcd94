package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.JoinForm;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Requests with equal keys differ only in their rows and their ids, so they can be joined.
 *
 * @param named whether they have ids
 * @param headers those that servers get
 */
record JoinKey(
        ModelRef model,
        boolean named,
        Map<String, Parameter> parameters,
        List<InputKey> inputs,
        List<RequestedOutput> outputs,
        Map<String, String> headers,
        JoinForm form) {

    /**
     * One input without its rows.
     *
     * @param row the shape of one row
     */
    record InputKey(String name, DataType dataType, Shape row, Map<String, Parameter> parameters) {

        static InputKey of(Tensor tensor) {
            long[] extents = tensor.shape().toArray();
            Shape row = Shape.of(Arrays.copyOfRange(extents, 1, extents.length));
            return new InputKey(tensor.name(), tensor.dataType(), row, tensor.parameters());
        }
    }

    /** @param request its inputs have at least one dimension */
    static JoinKey of(InferRequest request, Map<String, String> headers, JoinForm form) {
        return new JoinKey(
                request.model(),
                !request.id().isEmpty(),
                request.parameters(),
                request.inputs().stream().map(InputKey::of).toList(),
                request.outputs(),
                headers,
                form);
    }
}

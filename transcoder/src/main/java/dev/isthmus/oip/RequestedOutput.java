package dev.isthmus.oip;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An output that a request names. */
public record RequestedOutput(String name, Map<String, Parameter> parameters) {

    public RequestedOutput {
        parameters = Parameter.copyOf(parameters);
    }

    /** Whether the server writes it into shared memory. */
    public boolean shared() {
        return parameters.containsKey(Tensor.SHARED_MEMORY_REGION);
    }

    /** The parameters of the outputs that are written into shared memory, by output name. */
    public static Map<String, Map<String, Parameter>> shared(List<RequestedOutput> outputs) {
        Map<String, Map<String, Parameter>> shared = null;
        for (RequestedOutput output : outputs) {
            if (output.shared()) {
                shared = shared == null ? new HashMap<>() : shared;
                shared.put(output.name(), output.parameters());
            }
        }
        return shared == null ? Map.of() : shared;
    }
}

package dev.isthmus.oip;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An output that a request names. */
public record RequestedOutput(String name, Map<String, Parameter> parameters) {
    /** How many of its elements with the highest scores are wanted, as text: Triton's classification extension. */
    public static final String CLASSIFICATION = "classification";

    public RequestedOutput {
        parameters = Parameter.copyOf(parameters);
    }

    /** Whether the server writes it into shared memory. */
    public boolean shared() {
        return parameters.containsKey(Tensor.SHARED_MEMORY_REGION);
    }

    /** Whether its classification is wanted. */
    public boolean classified() {
        return parameters.containsKey(CLASSIFICATION);
    }

    /** For each output that is written into shared memory, by its name, the parameter that says so. */
    public static Map<String, Map<String, Parameter>> shared(List<RequestedOutput> outputs) {
        Map<String, Map<String, Parameter>> shared = null;
        for (RequestedOutput output : outputs) {
            Parameter region = output.parameters().get(Tensor.SHARED_MEMORY_REGION);
            if (region != null) {
                shared = shared == null ? new HashMap<>() : shared;
                shared.put(output.name(), Map.of(Tensor.SHARED_MEMORY_REGION, region));
            }
        }
        return shared == null ? Map.of() : shared;
    }
}

package dev.isthmus.oip;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An output that a request asks for by name. */
public record RequestedOutput(String name, Map<String, Parameter> parameters) {

    public RequestedOutput {
        parameters = Parameter.copyOf(parameters);
    }

    /** Whether it is to be written into memory that client and server share. */
    public boolean shared() {
        return parameters.containsKey(Tensor.SHARED_MEMORY_REGION);
    }

    /** Where those of these outputs go that are to be written into shared memory: their parameters, by name. */
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

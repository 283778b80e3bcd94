package dev.isthmus.transcoder.message;

import dev.isthmus.oip.Parameter;
import java.util.LinkedHashMap;
import java.util.Map;

/** The parameters of Triton's streams, which only gRPC has: over REST, Triton refuses a request with one. */
public final class StreamParameters {
    /** Of a request: whether a response without tensors must end its responses if there may be several. */
    public static final String EMPTY_FINAL = "triton_enable_empty_final_response";

    /** Of a response: whether it is the last one to its request. */
    public static final String FINAL = "triton_final_response";

    private StreamParameters() {}

    /** The parameters of a request that a REST server is sent. */
    public static Map<String, Parameter> without(Map<String, Parameter> parameters) {
        if (!parameters.containsKey(EMPTY_FINAL)) {
            return parameters;
        }
        Map<String, Parameter> sent = new LinkedHashMap<>(parameters);
        sent.remove(EMPTY_FINAL);
        return sent;
    }
}

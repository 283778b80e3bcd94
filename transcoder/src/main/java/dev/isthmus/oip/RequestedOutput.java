package dev.isthmus.oip;

import java.util.Map;

/** An output that a request asks for by name. */
public record RequestedOutput(String name, Map<String, Parameter> parameters) {

    public RequestedOutput {
        parameters = Parameter.copyOf(parameters);
    }
}

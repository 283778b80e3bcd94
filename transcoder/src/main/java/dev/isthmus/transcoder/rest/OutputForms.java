package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.transcoder.message.NonFinite;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The form in which a REST client requests its outputs: JSON, or binary data after the JSON. Set by the request's
 * parameter {@code binary_data_output} and the outputs' parameter {@code binary_data}, which takes precedence (binary
 * tensor data extension).
 *
 * @param base64 the BYTES outputs requested as base64 by their parameter {@code content_type}
 */
public record OutputForms(
        boolean binaryByDefault, Map<String, Boolean> binaryByName, Set<String> base64, NonFinite nonFinite) {

    public static final OutputForms JSON = new OutputForms(false, Map.of(), Set.of(), NonFinite.TOKEN);

    /** All outputs as binary data. */
    public static final OutputForms BINARY = new OutputForms(true, Map.of(), Set.of(), NonFinite.TOKEN);

    /** All outputs as binary data except these. */
    static OutputForms binaryExcept(Set<String> names) {
        Map<String, Boolean> forms = new HashMap<>();
        names.forEach(name -> forms.put(name, false));
        return new OutputForms(true, forms, Set.of(), NonFinite.TOKEN);
    }

    public OutputForms {
        binaryByName = Map.copyOf(binaryByName);
        base64 = base64.isEmpty() ? Set.of() : Set.copyOf(base64);
    }

    public OutputForms with(NonFinite policy) {
        return policy == nonFinite ? this : new OutputForms(binaryByDefault, binaryByName, base64, policy);
    }

    public OutputForms withoutBinary() {
        return new OutputForms(false, Map.of(), base64, nonFinite);
    }

    public boolean binary(String output) {
        return binaryByName.getOrDefault(output, binaryByDefault);
    }

    /**
     * Whether the request asks for every output as binary data in a way that servers honor: they read {@code
     * binary_data_output} only if no output is named.
     */
    public boolean allBinary(List<RequestedOutput> outputs) {
        return outputs.isEmpty()
                ? binaryByDefault
                : outputs.stream().allMatch(output -> binaryByName.getOrDefault(output.name(), false));
    }

    /** Whether any output is requested as binary data. */
    public boolean anyBinary() {
        return binaryByDefault || binaryByName.containsValue(true);
    }

    /** Whether servers interpret the request as the protocol says: no named output relies on the request's default. */
    public boolean explicit(List<RequestedOutput> outputs) {
        return !binaryByDefault || outputs.stream().allMatch(output -> binaryByName.containsKey(output.name()));
    }
}

package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A decoded REST request with the properties of its body.
 *
 * @param plainInputs the names of the inputs received as JSON that every server interprets alike
 * @param contestedInputs whether any input was received as JSON that servers interpret differently: half floats, NaN
 *     and the infinities, BYTES as arrays of numbers
 * @param base64Inputs whether any input was received as base64
 * @param foreignParameter the name of one of its parameters of a type that the protocol does not define, or null
 * @param hasNull whether an optional member was null, which not every server takes for absent
 */
public record RestRequest(
        InferRequest request,
        OutputForms outputForms,
        Set<String> plainInputs,
        boolean contestedInputs,
        boolean base64Inputs,
        @Nullable String foreignParameter,
        boolean hasNull) {

    public RestRequest {
        plainInputs = Set.copyOf(plainInputs);
    }

    /** Whether no input was received as JSON. */
    public boolean allBinary() {
        return plainInputs.isEmpty() && !contestedInputs && !base64Inputs;
    }
}

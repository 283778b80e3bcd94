package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A decoded REST request, with what its body says beside it.
 *
 * @param plainInputs the names of the inputs that came as JSON which every server reads alike
 * @param contestedInputs whether any input came as JSON that servers differ about: half floats, NaN and the infinities, BYTES
 *     as arrays of numbers
 * @param base64Inputs whether any input came as base64
 * @param foreignParameter the name of a parameter that the protocol does not have, of those that {@code request} has
 */
public record RestRequest(
        InferRequest request,
        OutputForms outputForms,
        Set<String> plainInputs,
        boolean contestedInputs,
        boolean base64Inputs,
        @Nullable String foreignParameter) {

    public RestRequest {
        plainInputs = Set.copyOf(plainInputs);
    }

    /** Whether no input came as JSON. */
    public boolean allBinary() {
        return plainInputs.isEmpty() && !contestedInputs && !base64Inputs;
    }
}

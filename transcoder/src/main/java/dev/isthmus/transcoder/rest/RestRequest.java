package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import org.jspecify.annotations.Nullable;

/**
 * A decoded REST request, with what its body says beside it.
 *
 * @param jsonInputs whether any input came as JSON
 * @param contestedJson whether any of those has what servers differ about in JSON: half floats, NaN and the infinities, BYTES
 *     as arrays of numbers
 * @param foreignParameter the name of a parameter that the protocol does not know and {@code request} does not have
 */
public record RestRequest(
        InferRequest request,
        OutputForms outputForms,
        boolean jsonInputs,
        boolean contestedJson,
        @Nullable String foreignParameter) {}

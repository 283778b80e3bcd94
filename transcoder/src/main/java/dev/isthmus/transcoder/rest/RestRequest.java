package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.transcoder.message.Dialect;
import io.netty.buffer.ByteBufAllocator;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A decoded REST request with the properties of its body.
 *
 * @param plainInputs the names of the inputs received as JSON that every server interprets alike
 * @param contestedInputs whether any input was received as JSON that servers interpret differently: half floats, NaN
 *     and the infinities, BYTES as arrays of numbers
 * @param base64Inputs the names of the inputs received as base64, which are decoded
 * @param foreignParameter the name of one of its parameters of a type that the protocol does not define, or null
 * @param hasNull whether an optional member was null, which not every server takes for absent
 */
public record RestRequest(
        InferRequest request,
        OutputForms outputForms,
        Set<String> plainInputs,
        boolean contestedInputs,
        Set<String> base64Inputs,
        @Nullable String foreignParameter,
        boolean hasNull) {

    public RestRequest {
        plainInputs = Set.copyOf(plainInputs);
        base64Inputs = Set.copyOf(base64Inputs);
    }

    /** The request for a server of this dialect, owned by the caller; shares the tensors' memory. */
    public InferRequest retained(ByteBufAllocator allocator, Dialect dialect) {
        InferRequest shared = request.retained();
        return dialect.base64() ? Base64Inputs.encoded(allocator, shared, base64Inputs) : shared;
    }

    /** Whether no input was received as JSON. */
    public boolean allBinary() {
        return plainInputs.isEmpty() && !contestedInputs && base64Inputs.isEmpty();
    }
}

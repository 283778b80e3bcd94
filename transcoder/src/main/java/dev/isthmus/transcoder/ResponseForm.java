package dev.isthmus.transcoder;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The form in which a client expects its response.
 *
 * @param untouched whether a response on the client's wire is passed through unchanged, because the upstream got the
 *     request in the client's form
 * @param outputs the outputs' forms on the REST wire
 * @param typed whether the protobuf wire has typed contents instead of raw contents
 * @param sharedOutputs the parameters of the outputs requested in shared memory, by name; responses contain neither
 *     their data nor these parameters
 * @param id the request's id, which a transcoded response echoes whatever the server sends; null for the server's id
 * @param model the model name in the response if the server knows the model by another; null for the server's name
 */
public record ResponseForm(
        Wire wire,
        boolean untouched,
        OutputForms outputs,
        boolean typed,
        Map<String, Map<String, Parameter>> sharedOutputs,
        @Nullable String id,
        @Nullable String model) {

    /** A response that is only decoded. */
    public static final ResponseForm DECODED =
            new ResponseForm(Wire.DECODED, true, OutputForms.JSON, false, Map.of(), null, null);

    /** The same with another model name. */
    public ResponseForm withModel(@Nullable String other) {
        return new ResponseForm(wire, untouched, outputs, typed, sharedOutputs, id, other);
    }

    /**
     * Whether an encoded response on this wire is passed through byte for byte, so that it can be forwarded before it
     * is complete.
     */
    public boolean passesParts(Wire upstream) {
        return upstream == wire && wire != Wire.DECODED && untouched && model == null;
    }
}

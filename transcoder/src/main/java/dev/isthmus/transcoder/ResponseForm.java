package dev.isthmus.transcoder;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a client wants its answer.
 *
 * @param untouched whether an answer that stands on the client's wire already goes on as it is, because the upstream was
 *     asked as the client asked
 * @param outputs on the REST wire
 * @param typed on the protobuf wire: as typed contents and not raw
 * @param sharedOutputs where the outputs are that were asked for in shared memory: their parameters, by name; answers have
 *     neither their data nor these
 * @param id the request's, which a transcoded answer echoes whatever the server made of it; null for the server's
 * @param model the name that the answer calls the model by, because the server knows it by another; null for the server's
 */
public record ResponseForm(
        Wire wire,
        boolean untouched,
        OutputForms outputs,
        boolean typed,
        Map<String, Map<String, Parameter>> sharedOutputs,
        @Nullable String id,
        @Nullable String model) {

    /** An answer to be decoded. */
    public static final ResponseForm DECODED =
            new ResponseForm(Wire.DECODED, true, OutputForms.JSON, false, Map.of(), null, null);

    /** Whether an encoded answer on this wire goes on byte for byte, so that it need not be whole. */
    public boolean passesParts(Wire upstream) {
        return upstream == wire && wire != Wire.DECODED && untouched && model == null;
    }
}

package dev.isthmus.transcoder.rest;

import java.util.Map;

/**
 * In which form a REST client wants its outputs: as JSON or as binary data behind the JSON. From the request's parameter
 * {@code binary_data_output} and the outputs' parameter {@code binary_data}, which wins (binary tensor data extension).
 */
public record OutputForms(boolean binaryByDefault, Map<String, Boolean> binaryByName) {

    /** All outputs as JSON. */
    public static final OutputForms JSON = new OutputForms(false, Map.of());

    public OutputForms {
        binaryByName = Map.copyOf(binaryByName);
    }

    public boolean binary(String output) {
        return binaryByName.getOrDefault(output, binaryByDefault);
    }
}
